-- ARGV: id, sequence, claims, reason, counts, attempts
local job = read_claimed(ARGV[1], ARGV[2])
if job and job.state == RUNNING and job.claims == tonumber(ARGV[3]) then
    end_attempt(job, ARGV[4], ARGV[5] == '1', tonumber(ARGV[6]))
end
return 0
