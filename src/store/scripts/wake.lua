#!lua flags=allow-oom
-- A target connected: the plans that wait for it are due at once.
-- KEYS  1 time set  2 waiting for the target
-- ARGV  1 most plans
-- Answers the number of plans taken from the waiting: as many as asked for = there may be more.
-- Cost  O(log n) a plan.
--@include plan.lua
local members = own('SPOP', KEYS[2], ARGV[1])
local time = redis.call('TIME')
local now = string.format('%.6f', time[1] + time[2] / 1000000)
for _, member in ipairs(members) do
    redis.call('ZADD', KEYS[1], 'XX', 'LT', now, member)
end
return #members
