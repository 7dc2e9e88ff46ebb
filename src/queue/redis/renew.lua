-- ARGV: lease in ms, then id, sequence and claims of each. Returns enum queue_lease_state of each.
local HELD, ASKED, LOST = 0, 1, 2
local standings = {}
for i = 2, #ARGV, 3 do
    local job = read_claimed(ARGV[i], ARGV[i + 1])
    local standing = LOST
    if job and job.state == RUNNING and job.claims == tonumber(ARGV[i + 2]) then
        begin_lease(job, tonumber(ARGV[1]))
        standing = job.cancel == '1' and ASKED or HELD
    end
    standings[#standings + 1] = standing
end
return standings
