-- ARGV: id, sequence, claims, outcome, reason, answers, has a result, result. Returns enum
-- queue_finish_result.
local FINISHED, REPEATED, REFUSED = 0, 1, 2
local job = read_claimed(ARGV[1], ARGV[2])
local claims = tonumber(ARGV[3])
if not job or claims < 1 or claims > job.claims then
    return REFUSED
end
if job.state >= DONE then
    local same = job.outcome == ARGV[4] and
        (redis.call('HGET', job_key(job.id), 'result') or '') == ARGV[8]
    return same and REPEATED or REFUSED
end
finish(job, ARGV[4], ARGV[5], ARGV[6] == '1', ARGV[7] == '1' and ARGV[8] or nil)
return FINISHED
