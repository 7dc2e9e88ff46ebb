-- ARGV: attempts, keep_ms, keep_jobs, keep_bytes (0: no bound). Returns {returned, lost, removed,
-- more, expired}.
local LEASES_MAX, REMOVED_MAX, EXPIRED_MAX = 100, 500, 250
local attempts, keep_ms, keep_jobs, keep_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]),
    tonumber(ARGV[3]), tonumber(ARGV[4])
local returned, lost, removed, more = 0, 0, 0, 0

-- Scans the stream's pending entries in parts; those of `back` are among them.
local function reap_stream(stream)
    local field = 'cursor:' .. stream
    local from = redis.call('HGET', meta, field) or '0-0'
    local reply = redis.call('XAUTOCLAIM', stream, 'workers', 'back', SPAN, from, 'COUNT', LEASES_MAX)
    if reply[1] == '0-0' then
        redis.call('HDEL', meta, field)
    else
        redis.call('HSET', meta, field, reply[1])
        more = 1
    end
    for _, entry in ipairs(reply[2]) do
        local job = entry and read(entry[2][2])
        if entry and (not job or entry_of(job) ~= entry[1]) then
            -- the record was removed from outside, and maybe put again
            redis.call('XACK', stream, 'workers', entry[1])
            redis.call('XDEL', stream, entry[1])
            if not job then
                forget(entry[2][2])
            end
        elseif job and job.state == RUNNING then
            redis.call('HINCRBY', meta, 'lost', 1)
            if end_attempt(job, nil, true, attempts) then
                lost = lost + 1
            else
                returned = returned + 1
            end
        end
    end
end

local function surplus(job)
    return keep_ms > 0 and now - tonumber(job.ended_ms) > keep_ms or
        keep_jobs > 0 and redis.call('ZCARD', P .. 'ended') > keep_jobs or
        keep_bytes > 0 and tonumber(redis.call('HGET', meta, 'kept_bytes') or 0) > keep_bytes
end

for _, needs in ipairs(redis.call('SMEMBERS', P .. 'needs')) do
    for priority = 0, 3 do
        local stream = stream_of({priority = priority, needs = needs})
        if redis.call('EXISTS', stream) == 1 then
            reap_stream(stream)
        end
    end
end
while removed < REMOVED_MAX do
    local oldest = redis.call('ZRANGE', P .. 'ended', 0, 0)
    local job = oldest[1] and read(oldest[1])
    if not oldest[1] or job and not surplus(job) then
        break
    elseif job then
        remove(job)
    else
        forget(oldest[1])
    end
    removed = removed + 1
end
-- Redis itself removes expired documents, but not their names.
local expired = redis.call('ZRANGEBYSCORE', P .. 'documents', '-inf', text(now), 'LIMIT', 0, EXPIRED_MAX)
for _, name in ipairs(expired) do
    redis.call('UNLINK', P .. 'document:' .. name)
    redis.call('ZREM', P .. 'documents', name)
end
if removed == REMOVED_MAX or #expired == EXPIRED_MAX then
    more = 1
end
return {returned, lost, removed, more, #expired}
