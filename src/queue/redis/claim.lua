-- ARGV: worker, lease in ms, needs… Returns the record with its payload, or nothing.
local worker, lease_ms = ARGV[1], tonumber(ARGV[2])

local function front(priority)
    local best
    for i = 3, #ARGV do
        local job = {priority = priority, needs = ARGV[i]}
        local first = redis.call('ZRANGE', queued_of(job), 0, 0, 'WITHSCORES')
        local sequence = tonumber(first[2])
        if sequence and (not best or sequence < best.sequence) then
            job.id, job.sequence = first[1], sequence
            best = job
        end
    end
    return best
end

-- An entry that was claimed before is pending for `back`; a new one is the stream's next.
local function take_entry(job)
    if #begin_lease(job, lease_ms) > 0 then
        return true
    end
    redis.call('XREADGROUP', 'GROUP', 'workers', 'held', 'COUNT', 1, 'STREAMS', stream_of(job), '>')
    return #begin_lease(job, lease_ms) > 0
end

for priority = 0, 3 do
    local found = front(priority)
    while found do
        local job = read(found.id)
        if not job or job.sequence ~= found.sequence then
            -- the record was removed from outside: there is nothing left to run
            withdraw(found)
            if not job then
                forget(found.id)
            end
        elseif take_entry(found) then
            redis.call('ZREM', queued_of(job), job.id)
            set_state(job, RUNNING)
            redis.call('HINCRBY', job_key(job.id), 'claims', 1)
            redis.call('HINCRBY', job_key(job.id), 'attempt', 1)
            redis.call('HSET', job_key(job.id), 'worker', worker, 'claimed_ms', text(now))
            add_event(job, '')
            return record(job.id, 1)
        else
            finish(job, 'infrastructure_error', 'its stream entry was removed', false, nil)
        end
        found = front(priority)
    end
end
return {}
