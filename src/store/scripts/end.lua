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
--@include plan.lua
local time = redis.call('TIME')
local now_us = string.format('%d', time[1] * 1000000 + time[2])
local kept = call_kept(KEYS[5], ARGV[1])
if kept then
    return {now_us, unpack(kept)}
end

local n, MEMBERS = tonumber(ARGV[3]), 6 + 2 * ARGV[5]
local RUNS, PLACES, WORKS = MEMBERS + n, MEMBERS + 2 * n, MEMBERS + 3 * n

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
