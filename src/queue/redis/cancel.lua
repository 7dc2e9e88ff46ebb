-- ARGV: id. Returns its enum queue_state, -1 if there is no such job.
local job = read(ARGV[1])
if not job then
    return -1
elseif job.state == QUEUED then
    finish(job, 'cancelled', 'cancelled before a worker took it', false, nil)
elseif job.state == RUNNING and job.cancel ~= '1' then
    job.cancel = '1'
    redis.call('HSET', job_key(job.id), 'cancel', '1')
    add_event(job, '')
end
return job.state
