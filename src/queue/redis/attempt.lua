-- Prefixed to every script, behind prelude.lua: an attempt of a job, from its claim on.

local function begin_lease(job, lease_ms)
    return redis.call('XCLAIM', stream_of(job), 'workers', 'held', 0, entry_of(job), 'IDLE',
        text(SPAN - lease_ms), 'JUSTID')
end

-- The job that a worker names, if it is still the one that it claimed.
local function read_claimed(id, sequence)
    local job = read(id)
    return job and job.sequence == tonumber(sequence) and job or nil
end

-- Ends a running job's attempt without a result: queues it again, or ends the job (returns true).
-- `why` nil: its lease expired.
local function end_attempt(job, why, counts, attempts)
    if job.cancel == '1' then
        finish(job, 'cancelled', 'cancelled while it ran', false, nil)
        return true
    end
    local last = counts and job.attempt >= attempts
    local reason = why or ''
    if counts then
        if why then
            reason = 'attempt ' .. job.attempt .. ' failed: ' ..
                (why ~= '' and why or 'the worker gave no reason')
        else
            reason = 'attempt ' .. job.attempt .. ' was lost: worker ' .. job.worker ..
                ' stopped renewing its lease'
        end
    end
    if last then
        finish(job, 'infrastructure_error', reason .. '; no attempts left', false, nil)
        return true
    end
    redis.call('XCLAIM', stream_of(job), 'workers', 'back', 0, entry_of(job), 'JUSTID')
    redis.call('ZADD', queued_of(job), text(job.sequence), job.id)
    set_state(job, QUEUED)
    redis.call('HSET', job_key(job.id), 'reason', reason, 'attempt',
        text(counts and job.attempt or job.attempt - 1))
    add_event(job, '')
    wake()
    return false
end

