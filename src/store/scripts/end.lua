#!lua flags=allow-oom
-- Write that plans are over whose last run ended as it was expected to: the most frequent results, many in
-- few commands. Anything unusual about one of them, and nothing is written: commit.lua does them then.
-- KEYS  1 time set  2 runs in hand  3 index  4 meta  5 the station's last calls
-- ARGV  1 number of the call  2 most records kept in the history  3 how many plans  4 their outcomes, packed
--       (plan.lua, remember_all)  5 how many numbers follow: +1 a field of the count  +2 how many of the
--       plans it counts, below 0
--       then by columns: each message key; each run in hand as it is expected; each index entry; each work
--       key, unless the plan can have none
-- Answers {now in us, epoch of the broadcasts, seq of the first; one more for each next}, or {now in us}
--         when nothing was written. Asked again, as when its answer was lost, it answers the same.
-- Cost  O(log n) a plan.
local time = redis.call('TIME')
local now_us = time[1] .. string.format('%06d', time[2])
local n, MEMBERS = tonumber(ARGV[3]), 6 + 2 * ARGV[5]
local RUNS, PLACES, WORKS = MEMBERS + n, MEMBERS + 2 * n, MEMBERS + 3 * n

-- -- one plan, as usual

-- All of it without a function of those below: to make them takes longer than what the end of one plan does.
-- Whatever is unusual - the call is asked again, the plan waits for its target, it is the last of its caller -
-- is left to them, and so is each 64th, that the history is trimmed; nothing is written before that is known.
local function end_one()
    local one_field, _, other_field, _, member, run, entry, work = unpack(ARGV, 6)
    local slot, station = ARGV[1] % 512, string.match(one_field, '^s:(.+)') -- plan.lua, CALLS_RING
    local sent, meta = redis.pcall('HGET', KEYS[5], slot), redis.pcall('HMGET', KEYS[4], 'seq', 'epoch')
    local first, epoch = tonumber(meta[1] or '') or 0, meta[2]
    -- What was answered begins with the number of its call, behind two bytes. The message counts three times.
    if type(sent) == 'table' or sent and string.sub(sent, 3, 2 + #ARGV[1]) == ARGV[1]
       or redis.pcall('HGET', KEYS[2], member) ~= run or first < 1 or not epoch or (first + 1) % 64 == 0
       or ARGV[2] == '0' or not station or redis.call('TTL', KEYS[5]) < 1800
       or redis.call('EXISTS', member, member, member, 'plan:told', 'plan:class',
                     'plan:wait:' .. station) ~= 3 then
        return
    end
    local counts = redis.pcall('HMGET', 'plan:count', one_field, other_field)
    local of_station = tonumber(string.match(counts[1] or '', '^%d+$'))
    local of_caller = tonumber(string.match(counts[2] or '', '^%d+$'))
    local queued, listed = redis.pcall('ZCARD', KEYS[1]), redis.pcall('ZCARD', KEYS[3])
    if type(queued) == 'table' or type(listed) == 'table' or listed < 2 or not of_station or not of_caller or math.min(of_station, of_caller) < 2
       or math.max(of_station, of_caller) > 2 ^ 53 then
        return
    end
    first = first + 1
    local row, number = cmsgpack.unpack(ARGV[4])[1], string.format('%d', first)
    local added = redis.pcall('XADD', 'plan:history', number .. '-0', 'p', row[1], 's', row[2],
                              't', string.sub(now_us, 1, -4), 'r', row[3])
    if type(added) == 'table' then
        return
    end
    redis.call('HSET', KEYS[4], 'seq', number)
    redis.call('DEL', member, work or member)
    redis.call('ZREM', KEYS[1], member)
    redis.call('ZREM', KEYS[3], entry)
    redis.call('HDEL', KEYS[2], member)
    redis.call('HSET', 'plan:count', one_field, string.format('%d', of_station - 1),
               other_field, string.format('%d', of_caller - 1))
    redis.call('HSET', KEYS[5], slot, cmsgpack.pack({ARGV[1], {epoch, first}}))
    return {now_us, epoch, first}
end

local one = n == 1 and ARGV[5] == '2' and end_one()
if one then
    return one
end

-- -- any number of them

--@include plan.lua
local kept = call_kept(KEYS[5], ARGV[1])
if kept then
    return {now_us, unpack(kept)}
end

local function is_expected(held, run)
    if held == run then
        return true
    end
    local size = held and string.sub(held, -2) == ' ' .. AS_GIVEN and #held - 1
    return size and string.sub(held, 1, size) == string.sub(run, 1, size)
end

local function as_expected()
    for i, held in ipairs(own('HMGET', KEYS[2], unpack(ARGV, MEMBERS, RUNS - 1))) do
        if not is_expected(held, ARGV[RUNS + i - 1]) then
            return false
        end
    end
    return redis.call('EXISTS', unpack(ARGV, MEMBERS, RUNS - 1)) == n
end

if not as_expected() then
    return {now_us}
end
local first, ms = last_seq() + 1, milliseconds(time)
local last, epoch = first + n - 1, epoch_of(first, time)
remember_all(last, n, ms, ARGV[4], ARGV[2])
history_trim(ARGV[2], last)
redis.call('HSET', KEYS[4], 'seq', string.format('%d', last), 'epoch', epoch)

redis.call('DEL', unpack(ARGV, MEMBERS, RUNS - 1))
redis.call('ZREM', KEYS[1], unpack(ARGV, MEMBERS, RUNS - 1))
redis.call('ZREM', KEYS[3], unpack(ARGV, PLACES, WORKS - 1))
redis.call('HDEL', KEYS[2], unpack(ARGV, MEMBERS, RUNS - 1))
local changes = {}
for at = 6, MEMBERS - 1, 2 do
    changes[ARGV[at]] = tonumber(ARGV[at + 1])
end
if WORKS <= #ARGV then
    redis.call('DEL', unpack(ARGV, WORKS))
end
if redis.call('EXISTS', 'plan:told') == 1 then
    own('HDEL', 'plan:told', unpack(ARGV, MEMBERS, RUNS - 1))
end
if redis.call('EXISTS', 'plan:class') == 1 then
    own('HDEL', 'plan:class', unpack(ARGV, MEMBERS, RUNS - 1))
end
for field in pairs(changes) do
    local station = string.match(field, '^s:(.*)')
    if station and redis.call('EXISTS', 'plan:wait:' .. station) == 1 then
        own('ZREM', 'plan:wait:' .. station, unpack(ARGV, MEMBERS, RUNS - 1))
    end
end
count(changes)
if redis.call('EXISTS', KEYS[3]) == 0 then
    redis.call('DEL', COUNT)
end
keep_call(KEYS[5], ARGV[1], {epoch, first})
return {now_us, epoch, first}
