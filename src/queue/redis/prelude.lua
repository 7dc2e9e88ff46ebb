-- Prefixed to every script of the queue. All keys begin with KEYS[1]:
--
--   meta                 hash    schema, sequence, number (of the last event), kept_bytes, lost, cursors,
--                                version (the highest that a document ever had)
--   job:ID               hash    the record, payload and result
--   all, batch:BATCH     zset    ids by sequence; state:N likewise, of the jobs in a state
--   stream:P:NEEDS       stream  one entry SEQUENCE-0 for each job queued or running; the group
--                                `workers` has a consumer `held` (running: pending since its lease
--                                began) and a consumer `back` (was running, is queued again)
--   queued:P:NEEDS       zset    ids by sequence, for claims and statistics
--   needs                set     words that have streams
--   ended                zset    ids by the number of the event that ended them
--   key:KEY              zset    likewise, those that answer for the key
--   outcomes             hash    ended jobs by outcome
--   events, wake         streams read by watchers and by waiting claims
--   registrations        set     names; registration:NAME is a string that expires
--   documents            zset    names by expiry time
--   document:NAME        hash    version, expires_ms, bytes; it expires
local P = KEYS[1]
local QUEUED, RUNNING, DONE, CANCELLED = 0, 1, 2, 3
local EVENTS_KEPT = 100000
local OUTCOMES_MAX = 32
-- A pending entry's idle time measures its lease. Leases differ in length, but XAUTOCLAIM has one
-- bound: so all leases end at the same idle time, SPAN, and begin at SPAN minus their length.
local SPAN = 86400000

local meta = P .. 'meta'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local FIELDS = {'sequence', 'id', 'batch', 'key', 'needs', 'priority', 'state', 'claims', 'attempt',
    'cancel', 'worker', 'put_ms', 'claimed_ms', 'ended_ms', 'outcome', 'reason', 'payload_bytes',
    'result_bytes'}
local NUMBERS = {sequence = 1, priority = 1, state = 1, claims = 1, attempt = 1, payload_bytes = 1,
    result_bytes = 1}

local function text(number)
    return string.format('%.0f', number)
end

local function job_key(id)
    return P .. 'job:' .. id
end

local function stream_of(job)
    return P .. 'stream:' .. text(job.priority) .. ':' .. job.needs
end

local function queued_of(job)
    return P .. 'queued:' .. text(job.priority) .. ':' .. job.needs
end

local function entry_of(job)
    return text(job.sequence) .. '-0'
end

-- nil if there is no record
local function read(id)
    local values = redis.call('HMGET', job_key(id), unpack(FIELDS))
    if not values[1] then
        return nil
    end
    local job = {}
    for i, name in ipairs(FIELDS) do
        job[name] = NUMBERS[name] and tonumber(values[i] or 0) or values[i] or ''
    end
    return job
end

-- The fields of a struct queue_job, for the caller; bodies as in enum queue_bodies.
local function record(id, bodies)
    local names = {unpack(FIELDS)}
    if bodies % 2 == 1 then
        names[#names + 1] = 'payload'
    end
    if bodies >= 2 then
        names[#names + 1] = 'result'
    end
    return redis.call('HMGET', job_key(id), unpack(names))
end

local function wake()
    redis.call('XADD', P .. 'wake', 'MAXLEN', '1', '*', 'w', '')
end

local function add_event(job, outcome)
    local number = redis.call('HINCRBY', meta, 'number', 1)
    redis.call('XADD', P .. 'events', 'MAXLEN', '~', EVENTS_KEPT, text(number) .. '-0', 'id', job.id,
        'batch', job.batch, 'state', text(job.state), 'outcome', outcome, 'cancel', job.cancel)
    return number
end

local function set_state(job, state)
    if job.state then
        redis.call('ZREM', P .. 'state:' .. text(job.state), job.id)
    end
    redis.call('ZADD', P .. 'state:' .. text(state), text(job.sequence), job.id)
    redis.call('HSET', job_key(job.id), 'state', text(state))
    job.state = state
end

local function count_outcome(outcome)
    local key = P .. 'outcomes'
    if redis.call('HLEN', key) >= OUTCOMES_MAX - 1 and redis.call('HEXISTS', key, outcome) == 0 then
        outcome = 'other'
    end
    redis.call('HINCRBY', key, outcome, 1)
end

-- Removes the job from its stream and its queue: no claim finds it after that.
local function withdraw(job)
    redis.call('XACK', stream_of(job), 'workers', entry_of(job))
    redis.call('XDEL', stream_of(job), entry_of(job))
    redis.call('ZREM', queued_of(job), job.id)
end

-- `result` nil: no result
local function finish(job, outcome, reason, answers, result)
    local size = result and #result or 0
    withdraw(job)
    set_state(job, outcome == 'cancelled' and CANCELLED or DONE)
    redis.call('HSET', job_key(job.id), 'outcome', outcome, 'reason', reason, 'ended_ms', text(now),
        'result_bytes', text(size))
    if result then
        redis.call('HSET', job_key(job.id), 'result', result)
    end
    local number = add_event(job, outcome)
    redis.call('ZADD', P .. 'ended', text(number), job.id)
    if answers and job.key ~= '' then
        redis.call('ZADD', P .. 'key:' .. job.key, text(number), job.id)
    end
    redis.call('HINCRBY', meta, 'kept_bytes', text(job.payload_bytes + size))
    count_outcome(outcome)
end

-- Removes an ended job and every index entry of it.
local function remove(job)
    redis.call('UNLINK', job_key(job.id))
    redis.call('ZREM', P .. 'ended', job.id)
    redis.call('ZREM', P .. 'all', job.id)
    redis.call('ZREM', P .. 'state:' .. text(job.state), job.id)
    if job.batch ~= '' then
        redis.call('ZREM', P .. 'batch:' .. job.batch, job.id)
    end
    if job.key ~= '' then
        redis.call('ZREM', P .. 'key:' .. job.key, job.id)
    end
    redis.call('HINCRBY', meta, 'kept_bytes', text(0 - job.payload_bytes - job.result_bytes))
end

local function withdraw_everywhere(id)
    for _, needs in ipairs(redis.call('SMEMBERS', P .. 'needs')) do
        for priority = 0, 3 do
            local job = {id = id, priority = priority, needs = needs}
            job.sequence = tonumber(redis.call('ZSCORE', queued_of(job), id))
            if job.sequence then
                withdraw(job)
            end
        end
    end
end

-- Removes what is left of a job whose record vanished: it was deleted from outside, or evicted.
-- Its batch and key are unknown: `list` and `find` clear those.
local function forget(id)
    redis.call('ZREM', P .. 'all', id)
    for state = RUNNING, CANCELLED do
        redis.call('ZREM', P .. 'state:' .. text(state), id)
    end
    if redis.call('ZREM', P .. 'state:' .. text(QUEUED), id) == 1 then
        withdraw_everywhere(id)
    end
    local kept = redis.call('ZCARD', P .. 'ended')
    if redis.call('ZREM', P .. 'ended', id) == 1 then
        -- Its size is unknown too: with the mean of all, the sum is right again when the last one goes.
        local bytes = tonumber(redis.call('HGET', meta, 'kept_bytes') or 0)
        redis.call('HINCRBY', meta, 'kept_bytes', text(0 - math.floor(bytes / kept)))
    end
end

