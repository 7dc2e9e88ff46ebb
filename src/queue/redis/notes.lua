-- ARGV: limit. Returns {name, bytes, …} in the order of the names.
local names, out = redis.call('SMEMBERS', P .. 'notes'), {}
table.sort(names)
for _, name in ipairs(names) do
    local bytes = redis.call('GET', P .. 'note:' .. name)
    if not bytes then
        redis.call('SREM', P .. 'notes', name)
    elseif #out < 2 * tonumber(ARGV[1]) then
        out[#out + 1] = name
        out[#out + 1] = bytes
    end
end
return out
