-- ARGV: name, bytes, lifetime in ms; without bytes the registration is removed.
if ARGV[2] == '' then
    redis.call('DEL', P .. 'registration:' .. ARGV[1])
    redis.call('SREM', P .. 'registrations', ARGV[1])
else
    redis.call('SET', P .. 'registration:' .. ARGV[1], ARGV[2], 'PX', ARGV[3])
    redis.call('SADD', P .. 'registrations', ARGV[1])
end
return 0
