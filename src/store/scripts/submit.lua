#!lua
-- Store a new plan, or tell what stands under its id. Refused by Redis itself when memory is full.
-- KEYS  1 time set  2 message  3 index
-- ARGV  1 id, 16 hex digits  2 station  3 score  4 message JSON
--       5 most plans in all  6 of one station  7 of one caller; 0 = no bound
-- Answers {1} stored, {0, station, message} the id is in use: the caller compares; {2, the bound's
--         name, the bound} there are too many.
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
local function full(bound, most, count)
    return tonumber(most) > 0 and (tonumber(count) or 0) >= tonumber(most) and {2, bound, most}
end
local refused = full('max_plans', ARGV[5], redis.call('ZCARD', KEYS[3]))
                or ARGV[6] ~= '0' and full('max_plans_station', ARGV[6], own('HGET', COUNT, 's:' .. ARGV[2]))
                or ARGV[7] ~= '0' and full('max_plans_caller', ARGV[7], own('HGET', COUNT, caller_of(ARGV[4])))
if refused then
    return refused
end
-- Of a plan that had this id and was deleted by hand nothing may be taken for this one's.
forget(ARGV[2], id)
redis.call('SET', KEYS[2], ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[3], KEYS[2])
index_add(ARGV[1] .. ':' .. ARGV[2], ARGV[2], ARGV[4])
return {1}
