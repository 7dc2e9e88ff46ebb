-- Returns {depth and oldest age in ms of each priority…, running, kept, lost, {outcome, count…}}.
local depth, oldest = {0, 0, 0, 0}, {0, 0, 0, 0}
for _, needs in ipairs(redis.call('SMEMBERS', P .. 'needs')) do
    for priority = 0, 3 do
        local key = queued_of({priority = priority, needs = needs})
        local first = redis.call('ZRANGE', key, 0, 0)
        depth[priority + 1] = depth[priority + 1] + redis.call('ZCARD', key)
        if first[1] then
            local put_ms = tonumber(redis.call('HGET', job_key(first[1]), 'put_ms'))
            oldest[priority + 1] = math.max(oldest[priority + 1], now - put_ms)
        end
    end
end
local out = {}
for i = 1, 4 do
    out[#out + 1] = depth[i]
    out[#out + 1] = oldest[i]
end
out[#out + 1] = redis.call('ZCARD', P .. 'state:' .. RUNNING)
out[#out + 1] = redis.call('ZCARD', P .. 'ended')
out[#out + 1] = tonumber(redis.call('HGET', meta, 'lost') or 0)
out[#out + 1] = redis.call('HGETALL', P .. 'outcomes')
return out
