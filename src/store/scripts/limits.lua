#!lua flags=allow-oom
-- How many runs at a time, and how often, targets and groups have.
-- KEYS  1 limits: a hash of s:STATION or g:GROUP -> "CONCURRENCY RATE BURST", each '' = none
-- ARGV  1 list, set or remove  2 name of one  3 set: its text  4 set: how many there may be
-- Answers {name, text, name, text, ...} of list, {1} done, {} remove: there is none; set: there are too many.
-- Cost  O(limits).
--@include plan.lua
local word, name = ARGV[1], ARGV[2]
if word == 'list' then
    return own('HGETALL', KEYS[1])
end
local is_there = own('HEXISTS', KEYS[1], name) == 1
if word == 'remove' then
    redis.call('HDEL', KEYS[1], name)
elseif is_there or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('HSET', KEYS[1], name, ARGV[3])
end
-- Which runs are in hand was noted only while there was a limit: it is found out anew (lanes.lua).
redis.call('DEL', 'plan:busy:' .. name)
return (is_there or redis.call('HEXISTS', KEYS[1], name) == 1) and {1} or {}
