#!lua
-- Store a new plan, or tell what stands under its id. Refused by Redis itself when memory is full.
-- KEYS  1 time set  2 message  3 index
-- ARGV  1 id, 16 hex digits  2 station  3 score  4 message JSON
-- Answers {1} stored, {0, station, message} the id is in use: the caller compares.
-- Cost  O(log n).
--@include plan.lua
local id = string.match(ARGV[1], '^0*(%x+)$')
if #entries(ARGV[1]) > 0 then
    local _, station, _, _, message = find(ARGV[1])
    if message then
        return {0, station, message}
    end
    clear_dead(ARGV[1])
    if #entries(ARGV[1]) > 0 then
        return redis.error_reply('WRONGTYPE the message under this id is no string')
    end
end
-- A message made by hand that no claim has met yet.
local message = redis.call('GET', KEYS[2])
if message then
    return {0, ARGV[2], message}
end
-- Of a plan that had this id and was deleted by hand nothing may be taken for this one's.
forget(ARGV[2], id)
redis.call('SET', KEYS[2], ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[3], KEYS[2])
redis.call('ZADD', KEYS[3], 0, ARGV[1] .. ':' .. ARGV[2])
return {1}
