-- ARGV: key, bodies. Returns the record, or nothing.
local newest = redis.call('ZREVRANGE', P .. 'key:' .. ARGV[1], 0, 0)
return newest[1] and record(newest[1], tonumber(ARGV[2])) or {}
