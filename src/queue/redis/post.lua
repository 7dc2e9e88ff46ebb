-- ARGV: name, bytes, ms to keep it; without bytes it is taken down.
if ARGV[2] == '' then
    redis.call('DEL', P .. 'note:' .. ARGV[1])
    redis.call('SREM', P .. 'notes', ARGV[1])
else
    redis.call('SET', P .. 'note:' .. ARGV[1], ARGV[2], 'PX', ARGV[3])
    redis.call('SADD', P .. 'notes', ARGV[1])
end
return 0
