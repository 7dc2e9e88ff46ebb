-- Returns {depth and oldest age in ms of each priority…, running, kept, lost, documents,
-- {outcome, count…}}.
local VANISHED_MAX = 100
local depth, oldest = {0, 0, 0, 0}, {0, 0, 0, 0}

-- When the first of a queue was put; those before it whose records vanished are taken out.
local function put_ms_of_first(queue)
    for _ = 1, VANISHED_MAX do
        local first = redis.call('ZRANGE', queued_of(queue), 0, 0, 'WITHSCORES')
        local put_ms = first[1] and redis.call('HGET', job_key(first[1]), 'put_ms')
        if not first[1] or put_ms then
            return tonumber(put_ms)
        end
        queue.id, queue.sequence = first[1], tonumber(first[2])
        withdraw(queue)
        forget(queue.id)
    end
end

for _, needs in ipairs(redis.call('SMEMBERS', P .. 'needs')) do
    for priority = 0, 3 do
        local queue = {priority = priority, needs = needs}
        local put_ms = put_ms_of_first(queue)
        depth[priority + 1] = depth[priority + 1] + redis.call('ZCARD', queued_of(queue))
        if put_ms then
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
out[#out + 1] = redis.call('ZCARD', P .. 'documents')
out[#out + 1] = redis.call('HGETALL', P .. 'outcomes')
return out
