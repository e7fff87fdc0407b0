#!lua flags=allow-oom
-- A station is here: it says what it knows of the data, and hears whether they are still the same.
-- KEYS  1 meta  2 attending
-- ARGV  1 instance of the station  2 schema of the keys  3 identity of the data it knew, '' none
--       4 epoch of the last broadcast it heard of, '' none  5 seq of that  6 last exec_id it saw
-- Answers {identity of the data, 1 they have lost their last writes, stations that attend, revision of
--         the added targets, a key of ours that was of another type and was replaced, '' none}
-- When the last broadcast that was heard of is not there any more, the numbers go on behind it in a new
-- epoch: none is given twice.
-- Cost  O(stations).
--@include plan.lua
local FORGET_S = 86400
local time = redis.call('TIME')
local now = tonumber(time[1])
own('HSETNX', KEYS[1], 'schema', ARGV[2])
redis.call('HSETNX', KEYS[1], 'store', string.format('%x%05x', time[1], time[2]))
local data = redis.call('HGET', KEYS[1], 'store')
local lost = 0
if data == ARGV[3] and ARGV[4] ~= '' and redis.call('HGET', KEYS[1], 'epoch') == ARGV[4]
   and last_seq() < tonumber(ARGV[5]) then
    lost = 1
    redis.call('HSET', KEYS[1], 'seq', ARGV[5], 'epoch', string.format('%x%05x', time[1], time[2]))
end
if data == ARGV[3] and tonumber(ARGV[6]) > (tonumber(redis.call('HGET', KEYS[1], 'exec') or '') or 0) then
    lost = 1
    redis.call('HSET', KEYS[1], 'exec', ARGV[6])
end

own('HSET', KEYS[2], ARGV[1], now)
local attending, all = 0, redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
    local age = math.abs(now - (tonumber(all[i + 1]) or 0))
    if age > FORGET_S then
        redis.call('HDEL', KEYS[2], all[i])
    elseif age <= ABSENT_S then
        attending = attending + 1
    end
end
local wrong = redis.call('HGET', KEYS[1], 'wrong') or ''
redis.call('HDEL', KEYS[1], 'wrong')
return {data, lost, attending, redis.call('HGET', KEYS[1], 'stations') or '0', wrong}
