-- ARGV: limit. Returns {name, bytes, …} in the order of the names.
local names, out = redis.call('SMEMBERS', P .. 'registrations'), {}
table.sort(names)
for _, name in ipairs(names) do
    local bytes = redis.call('GET', P .. 'registration:' .. name)
    if not bytes then
        redis.call('SREM', P .. 'registrations', name)
    elseif #out < 2 * tonumber(ARGV[1]) then
        out[#out + 1] = name
        out[#out + 1] = bytes
    end
end
return out
