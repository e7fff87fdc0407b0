#!lua
-- Put new plans into the queue and the index whose messages were stored by the command before, in one step
-- with this (store_submit.c): messages that go through a script cost more than all the rest of it.
-- KEYS  1 time set  2 index  3 mark that the messages were stored, as none of them was there
-- ARGV  1 most plans in all  2 of one station  3 of one caller; 0 = no bound
--       4 how many plans  5 what the mark is then  6 first id as 16 hex digits, which grow  7 last one
--       8 how many numbers follow: +1 a field of the count  +2 how many of the plans it counts
--       then by columns: each score and key; each 0 and index entry
-- Answers 1 they are stored, or 0: nothing is, submit.lua tells why.
-- Cost  O(log n) a plan.
--@include plan.lua
local n, MEMBERS = tonumber(ARGV[4]), 9 + 2 * ARGV[8]
local PLACES = MEMBERS + 2 * n
local stored = redis.pcall('GET', KEYS[3]) == ARGV[5]
redis.call('DEL', KEYS[3])

local function fits(most, kept, more)
    return most == '0' or kept + more <= tonumber(most)
end

local function all_fit()
    if not fits(ARGV[1], LISTED, n) then
        return false
    end
    for at = 9, MEMBERS - 1, 2 do
        local most = string.sub(ARGV[at], 1, 1) == 's' and ARGV[2] or ARGV[3]
        if most ~= '0' and not fits(most, tonumber(own('HGET', COUNT, ARGV[at]) or '') or 0, ARGV[at + 1]) then
            return false
        end
    end
    return true
end

-- Nothing is kept under any of the ids, for other stations either.
local function all_are_new()
    return redis.call('ZLEXCOUNT', KEYS[2], '[' .. ARGV[6] .. ':', '(' .. ARGV[7] .. ';') == 0
end

if not (stored and all_fit() and all_are_new()) then
    for at = MEMBERS + 1, stored and PLACES - 1 or 0, 2 do
        redis.call('DEL', ARGV[at])
    end
    return 0
end
redis.call('ZADD', KEYS[1], unpack(ARGV, MEMBERS, PLACES - 1))
redis.call('ZADD', KEYS[2], unpack(ARGV, PLACES))
for at = 9, MEMBERS - 1, 2 do
    own('HINCRBY', COUNT, ARGV[at], ARGV[at + 1])
end
return 1
