-- ARGV: state or -1, batch or '', before, limit, bodies. Returns records, newest first.
local state, limit, bodies = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])
local index = P .. 'all'
if ARGV[2] ~= '' then
    index = P .. 'batch:' .. ARGV[2]
elseif state ~= '-1' then
    index = P .. 'state:' .. state
end
local records, before = {}, '(' .. ARGV[3]
while #records < limit do
    local page = redis.call('ZREVRANGEBYSCORE', index, before, '-inf', 'WITHSCORES', 'LIMIT', 0, limit)
    for i = 1, #page, 2 do
        local at = redis.call('HGET', job_key(page[i]), 'state')
        if not at and ARGV[2] ~= '' then
            -- the record was removed from outside; nothing else clears this index
            redis.call('ZREM', index, page[i])
        elseif at and #records < limit and (state == '-1' or at == state) then
            records[#records + 1] = record(page[i], bodies)
        end
        before = '(' .. page[i + 1]
    end
    if #page < 2 * limit then
        break
    end
end
return records
