#!lua flags=allow-oom
-- The identity by which a station connects to a target: random, and the same after a restart of either. Stations
-- that run at the same time never share one.
-- KEYS  1 identities: a hash of "TARGET IDENTITY" -> "INSTANCE HOME"  2 attending
-- ARGV  1 instance of the station  2 its home: where it runs, the same after a restart  3 target
--       4 a new identity  5 the one that it is to replace, '' none
-- Answers {identity, 1 = it was used before}: that of the home; else one whose station is gone; else the new one.
-- Cost  O(identities).
--@include plan.lua
local now, prefix = tonumber(redis.call('TIME')[1]), ARGV[3] .. ' '
local own_one, free_one
own('HSET', KEYS[2], ARGV[1], now)
if ARGV[5] ~= '' then
    own('HDEL', KEYS[1], prefix .. ARGV[5])
end

local function is_gone(instance)
    local seen = tonumber(redis.call('HGET', KEYS[2], instance) or '') or 0
    return math.abs(now - seen) > ABSENT_S
end

local all = own('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local instance, home = string.match(all[i + 1], '^(%S+) (.*)$')
    if string.sub(all[i], 1, #prefix) == prefix then
        local identity = string.sub(all[i], #prefix + 1)
        if home == ARGV[2] then
            own_one = identity
        elseif ARGV[5] == '' and is_gone(instance or '') then
            free_one = identity
        end
    end
end
local known = own_one or free_one
redis.call('HSET', KEYS[1], prefix .. (known or ARGV[4]), ARGV[1] .. ' ' .. ARGV[2])
return {known or ARGV[4], known and 1 or 0}
