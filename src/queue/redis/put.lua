-- ARGV: count, then of each job the twelve below. Returns enum queue_put_result of each.
local NEW, JOINED, ANSWERED, REPLACED = 0, 1, 2, 3
local results, any = {}, false

local function enqueue(job)
    local stream = stream_of(job)
    if redis.call('EXISTS', stream) == 0 then
        redis.call('XGROUP', 'CREATE', stream, 'workers', '0', 'MKSTREAM')
        redis.call('SADD', P .. 'needs', job.needs)
    end
    redis.call('XADD', stream, entry_of(job), 'id', job.id)
    redis.call('ZADD', queued_of(job), text(job.sequence), job.id)
    any = true
end

local function put(id, batch, key, needs, priority, force, payload, known, outcome, reason, answers,
        result)
    local old = read(id)
    if old and old.state < DONE then
        return JOINED
    elseif old and force == '0' then
        return ANSWERED
    elseif old then
        remove(old)
    elseif redis.call('ZSCORE', P .. 'all', id) then
        -- its record vanished: remove what is left before the new one
        forget(id)
    end
    local job = {id = id, batch = batch, key = key, needs = needs, priority = tonumber(priority),
        cancel = '0', payload_bytes = #payload, sequence = redis.call('HINCRBY', meta, 'sequence', 1)}
    redis.call('HSET', job_key(id), 'sequence', text(job.sequence), 'id', id, 'batch', batch, 'key',
        key, 'needs', needs, 'priority', priority, 'claims', 0, 'attempt', 0, 'cancel', 0, 'worker',
        '', 'put_ms', text(now), 'payload_bytes', #payload, 'payload', payload)
    redis.call('ZADD', P .. 'all', text(job.sequence), id)
    if batch ~= '' then
        redis.call('ZADD', P .. 'batch:' .. batch, text(job.sequence), id)
    end
    set_state(job, QUEUED)
    if known == '0' then
        enqueue(job)
    else
        finish(job, outcome, reason, answers == '1', known == '2' and result or nil)
    end
    return old and REPLACED or NEW
end

for i = 1, tonumber(ARGV[1]) do
    local at = 2 + (i - 1) * 12
    results[i] = put(unpack(ARGV, at, at + 11))
end
if any then
    wake()
end
return results
