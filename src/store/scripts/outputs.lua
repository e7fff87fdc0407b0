#!lua flags=allow-oom
-- Drop the oldest outputs of runs: those that are too old, and then others until the rest is within the limit.
-- KEYS  1 outputs
-- ARGV  1 maximum of their memory in bytes  2 maximum of their age in seconds
-- Answers how many entries were dropped
-- Cost  O(entries dropped + nodes of the stream).
local ROUNDS = 8
local dropped = 0

-- The oldest entry comes first. An entry may be large, so they are read one by one.
local time = redis.call('TIME')
local oldest = (time[1] - ARGV[2]) * 1000
for _ = 1, 100 do
    local entry = redis.pcall('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    if type(entry) ~= 'table' or (tonumber(entry[2][2]) or 0) >= oldest then
        break
    end
    dropped = dropped + redis.call('XDEL', KEYS[1], entry[1])
end

for _ = 1, ROUNDS do
    local used, count = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0), redis.pcall('XLEN', KEYS[1])
    if type(used) ~= 'number' or type(count) ~= 'number' or used <= tonumber(ARGV[1]) or count == 0 then
        break
    end
    local keep = math.floor(count * ARGV[1] / used * 0.95)
    dropped = dropped + redis.call('XTRIM', KEYS[1], 'MAXLEN', math.min(keep, count - 1))
end
return dropped
