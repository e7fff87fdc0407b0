#!lua
-- Put new plans into the queue and the index whose messages were stored by the command before, in one step
-- with this (store_submit.c): messages that go through a script cost more than all the rest of it.
-- KEYS  1 time set  2 index  3 mark that the messages were stored, as none of them was there
-- ARGV  1 most plans in all  2 of one station  3 of one caller; 0 = no bound
--       4 how many plans  5 what the mark is then  6 first id as 16 hex digits, which grow  7 last one
--       8 how many numbers follow: +1 a field of the count  +2 how many of the plans it counts
--       then by columns: each score and key; each 0 and index entry; each key and class (plan:class, '' none),
--       unless none has one
-- Answers 1 they are stored, or 0: nothing is, submit.lua tells why.
-- Cost  O(log n) a plan.
-- No function of plan.lua is used: to make it takes longer than what a call of one plan does. What is unusual,
-- such as a key of another type, is left to submit.lua.
local n, MEMBERS = tonumber(ARGV[4]), 9 + 2 * ARGV[8]
local PLACES, CLASSES = MEMBERS + 2 * n, MEMBERS + 4 * n
local mark = redis.pcall('GETDEL', KEYS[3])
if type(mark) == 'table' then
    redis.call('DEL', KEYS[3])
end

local function fits(most, kept)
    return most == '0' or kept <= tonumber(most)
end

-- The counts as they are with these plans, field by field; nil: they are too many, or what is counted is odd.
local function counts_then()
    local fields, more, listed = {}, {}, redis.pcall('ZCARD', KEYS[2])
    for at = 9, MEMBERS - 1, 2 do
        fields[#fields + 1], more[#fields + 1] = ARGV[at], ARGV[at + 1]
    end
    local counts = redis.pcall('HMGET', 'plan:count', unpack(fields))
    if type(listed) == 'table' or counts.err or not fits(ARGV[1], listed + n) then
        return
    end
    for i = #fields, 1, -1 do
        local field, kept = fields[i], tonumber(string.match(counts[i] or '0', '^%d+$'))
        local plans = kept and kept + more[i]
        if not plans or plans > 2 ^ 53 or not fits(string.sub(field, 1, 1) == 's' and ARGV[2] or ARGV[3], plans) then
            return
        end
        counts[2 * i - 1], counts[2 * i] = field, string.format('%d', plans)
    end
    return counts
end

-- Nothing is kept under any of the ids, for other stations either.
local function all_are_new()
    return redis.call('ZLEXCOUNT', KEYS[2], '[' .. ARGV[6] .. ':', '(' .. ARGV[7] .. ';') == 0
end

local counts = mark == ARGV[5] and counts_then()
if not counts or not all_are_new()
   or type(redis.pcall('ZADD', KEYS[1], unpack(ARGV, MEMBERS, PLACES - 1))) == 'table' then
    for at = MEMBERS + 1, mark == ARGV[5] and PLACES - 1 or 0, 2 do
        redis.call('DEL', ARGV[at])
    end
    return 0
end
redis.call('ZADD', KEYS[2], unpack(ARGV, PLACES, CLASSES - 1))
for at = CLASSES, #ARGV, 2 do
    if ARGV[at + 1] ~= '' and type(redis.pcall('HSET', 'plan:class', ARGV[at], ARGV[at + 1])) == 'table' then
        redis.call('DEL', 'plan:class') -- of another type
        redis.call('HSET', 'plan:class', ARGV[at], ARGV[at + 1])
    end
end
redis.call('HSET', 'plan:count', unpack(counts))
return 1
