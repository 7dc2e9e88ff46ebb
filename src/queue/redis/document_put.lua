-- ARGV: name, version that was read, ms to keep it, bytes. Returns 1 if written, else 0.
local key, was = P .. 'document:' .. ARGV[1], tonumber(ARGV[2])
local version = tonumber(redis.call('HGET', key, 'version') or 0) or -1
if version ~= was then
    -- a repeat after a lost answer?
    local may_be_this = version > 0 and (was == 0 or version == was + 1)
    return may_be_this and redis.call('HGET', key, 'bytes') == ARGV[4] and 1 or 0
end
local highest = tonumber(redis.call('HGET', meta, 'version') or 0)
version = 1 + (was == 0 and highest or was)
if version > highest then
    redis.call('HSET', meta, 'version', text(version))
end
local expires = text(now + tonumber(ARGV[3]))
redis.call('HSET', key, 'version', text(version), 'expires_ms', expires, 'bytes', ARGV[4])
redis.call('PEXPIREAT', key, expires)
redis.call('ZADD', P .. 'documents', expires, ARGV[1])
return 1
