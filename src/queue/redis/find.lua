-- ARGV: key, bodies. Returns the record, or nothing.
local key = P .. 'key:' .. ARGV[1]
while true do
    local newest = redis.call('ZREVRANGE', key, 0, 0)
    if not newest[1] then
        return {}
    end
    local job = read(newest[1])
    if job and job.key == ARGV[1] and job.state >= DONE then
        return record(job.id, tonumber(ARGV[2]))
    end
    -- the record was removed from outside, and maybe put again
    redis.call('ZREM', key, newest[1])
end
