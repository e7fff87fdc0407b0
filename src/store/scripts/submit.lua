#!lua
-- Store new plans, or tell what stands under their ids. Refused by Redis itself when memory is full.
-- KEYS  1 time set  2 index
-- ARGV  1 most plans in all  2 of one station  3 of one caller; 0 = no bound
--       4 how many plans  5 made = nothing can be left of former ones: the station made their ids just now;
--       any = something may; each = each is to be looked at
--       6 first id as 16 hex digits  7 last one, when they grow; '' = they do not (with each: 6 most records
--       kept in the history)
--       8 how many numbers follow: +1 a field of the count  +2 how many of the plans it counts
--       then by columns: each message key; each key and message JSON; each score and key (with each: score ''
--       = held, it is not queued); each 0 and index entry; each work key, unless made or each; each key and class
--       (plan:class, '' none), unless none has one; with each: each record for the history of missed
--       occurrences, '' none
-- Answers {} they are stored, or of each plan: 1 stored; {0, station, message} the id is in use: the
--         caller compares ('' = by a plan that is much larger); {2, the bound's name, the bound} there are too
--         many; {3, error}.
-- Cost  O(log n) a plan.
--@include plan.lua
local n, MEMBERS = tonumber(ARGV[4]), 9 + 2 * ARGV[8]
local SETS, QUEUE, PLACES, WORKS = MEMBERS + n, MEMBERS + 3 * n, MEMBERS + 5 * n, MEMBERS + 7 * n
local CLASSES = WORKS + (ARGV[5] == 'any' and n or 0)
local RECORDS = CLASSES + 2 * n
local counts = {}

local function full(bound, most, field, more)
    if most == '0' then
        return
    end
    if not counts[field] then
        counts[field] = field == '' and redis.call('ZCARD', KEYS[2])
                        or tonumber(own('HGET', COUNT, field) or '') or 0
    end
    return counts[field] + more > tonumber(most) and {2, bound, most}
end

-- -- all at once: mostly there is nothing to say of any of them

local function all_fit()
    if full('max_plans', ARGV[1], '', n) then
        return false
    end
    for at = 9, MEMBERS - 1, 2 do
        local is_station = string.sub(ARGV[at], 1, 1) == 's'
        if full('', is_station and ARGV[2] or ARGV[3], ARGV[at], tonumber(ARGV[at + 1])) then
            return false
        end
    end
    return true
end

local function is_free(first, last)
    return redis.call('ZLEXCOUNT', KEYS[2], '[' .. first .. ':', '(' .. last .. ';') == 0
end

-- Whether nothing is kept under any of the ids. Of those that grow one look tells.
local function all_are_new()
    if ARGV[6] ~= '' then
        if not is_free(ARGV[6], ARGV[7]) then
            return false
        end
    else
        local seen = {}
        for at = PLACES + 1, WORKS - 1, 2 do
            local digits = string.sub(ARGV[at], 1, 16)
            if seen[digits] or not is_free(digits, digits) then
                return false
            end
            seen[digits] = true
        end
    end
    -- A message made by hand that no claim has met yet counts as well.
    return redis.call('EXISTS', unpack(ARGV, MEMBERS, SETS - 1)) == 0
end

-- Of plans that had these ids and were deleted by hand nothing may be taken for theirs.
local function forget_former()
    own('HDEL', 'plan:run', unpack(ARGV, MEMBERS, SETS - 1))
    own('HDEL', 'plan:told', unpack(ARGV, MEMBERS, SETS - 1))
    redis.call('DEL', unpack(ARGV, WORKS, WORKS + n - 1))
    if redis.call('EXISTS', 'plan:class') == 1 then
        own('HDEL', 'plan:class', unpack(ARGV, MEMBERS, SETS - 1))
    end
    for at = 9, MEMBERS - 1, 2 do
        local station = string.match(ARGV[at], '^s:(.*)')
        if station and redis.call('EXISTS', 'plan:wait:' .. station) == 1 then
            own('ZREM', 'plan:wait:' .. station, unpack(ARGV, MEMBERS, SETS - 1))
        end
    end
end

if ARGV[5] ~= 'each' and all_fit() and all_are_new() then
    if ARGV[5] == 'any' then
        forget_former()
    end
    redis.call('MSET', unpack(ARGV, SETS, QUEUE - 1))
    redis.call('ZADD', KEYS[1], unpack(ARGV, QUEUE, PLACES - 1))
    redis.call('ZADD', KEYS[2], unpack(ARGV, PLACES, WORKS - 1))
    for at = 9, MEMBERS - 1, 2 do
        own('HINCRBY', COUNT, ARGV[at], ARGV[at + 1])
    end
    for at = CLASSES, #ARGV, 2 do
        if ARGV[at + 1] ~= '' then
            own('HSET', 'plan:class', ARGV[at], ARGV[at + 1])
        end
    end
    return {}
end

-- -- one after the other

-- The caller compares frames: what is much larger than the new plan is another one, and is not even read.
local SAME_SLACK = 65536

local function is_much_larger(key, message)
    local size = redis.pcall('STRLEN', key)
    return type(size) == 'number' and size > 2 * #message + SAME_SLACK
end

-- What stands under the id, as an answer.
local function in_use(digits, station, member, new)
    for _, entry in ipairs(entries(digits)) do
        local held_by, id = entry_parse(entry)
        if id and is_much_larger(message_key(held_by, id), new) then
            return {0, held_by, ''}
        end
    end
    if #entries(digits) > 0 then
        local _, held_by, _, _, message = find(digits)
        if message then
            return {0, held_by, message}
        end
        clear_dead(digits)
        counts = {}
        if #entries(digits) > 0 then
            return {3, 'WRONGTYPE the message under this id is no string'}
        end
    end
    if is_much_larger(member, new) then
        return {0, station, ''}
    end
    local message = redis.pcall('GET', member)
    if message then
        return type(message) == 'string' and {0, station, message} or {3, message.err}
    end
end

local function too_many(station, caller)
    return full('max_plans', ARGV[1], '', 1) or full('max_plans_station', ARGV[2], 's:' .. station, 1)
           or full('max_plans_caller', ARGV[3], caller, 1)
end

-- An answer is bounded in bytes: what stands under an id may be large, and asked for many times.
local BYTES_MAX = 4194304
local time = redis.call('TIME')
local answers, bytes, seq = {}, 0, nil
for i = 1, n do
    local member, message = ARGV[MEMBERS + i - 1], ARGV[SETS + 2 * i - 1]
    local score, entry = ARGV[QUEUE + 2 * i - 2], ARGV[PLACES + 2 * i - 1]
    local station, caller = string.sub(entry, 18), caller_of(message)
    local answer = in_use(string.sub(entry, 1, 16), station, member, message) or too_many(station, caller)
    if not answer then
        forget({member}, {station})
        redis.call('SET', member, message)
        if score ~= '' then
            redis.call('ZADD', KEYS[1], score, member)
        else
            redis.call('ZREM', KEYS[1], member)
        end
        redis.call('ZADD', KEYS[2], 0, entry)
        local class = ARGV[CLASSES + 2 * i - 1] or ''
        if class ~= '' then
            own('HSET', 'plan:class', member, class)
        end
        local missed = ARGV[5] == 'each' and ARGV[RECORDS + i - 1] or ''
        if missed ~= '' then
            seq = seq or last_seq()
            local _, id = entry_parse(entry)
            remember(seq, false, station, id, milliseconds(time), missed, ARGV[6])
        end
        count({['s:' .. station] = 1, [caller] = 1})
        counts = {}
    end
    if answer and answer[1] == 0 then
        bytes = bytes + #answer[3]
        if bytes > BYTES_MAX and bytes > #answer[3] then
            answer = {3, 'TRYAGAIN too many ids that are in use by large plans; try again in 100 ms'}
        end
    end
    answers[i] = answer or 1
end
if seq then
    history_trim(ARGV[6], seq)
end
return answers
