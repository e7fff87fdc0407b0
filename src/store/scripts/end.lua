#!lua flags=allow-oom
-- Write that plans are over whose last run ended as it was expected to: the most frequent results, many in
-- few commands. Anything unusual about one of them, and nothing is written: commit.lua does them then.
-- KEYS  1 time set  2 runs in hand  3 index  4 meta  5 the station's last calls
-- ARGV  1 number of the call  2 most records kept in the history  3 how many plans  4 their outcomes, packed
--       (plan.lua, remember_all)  5 what their runs wrote, packed as fields of an entry of plan:output (output.h),
--       '' none  6 how many numbers follow: +1 a field of the count  +2 how many of the plans it counts, below 0
--       then by columns: each message key; each run in hand as it is expected; each index entry; each work
--       key, unless the plan can have none
-- Answers {now in us, epoch of the broadcasts, seq of the first; one more for each next}, or {now in us}
--         when nothing was written. Asked again, as when its answer was lost, it answers the same.
-- Cost  O(log n) a plan.
local time = redis.call('TIME')
local now_us = time[1] .. string.format('%06d', time[2])
local n, MEMBERS = tonumber(ARGV[3]), 7 + 2 * ARGV[6]
local RUNS, PLACES, WORKS = MEMBERS + n, MEMBERS + 2 * n, MEMBERS + 3 * n

-- -- all as usual

-- Without a function of those below: to make them takes longer than what the end of a plan does. Whatever is
-- unusual - the call is asked again, a plan waits for its target, it is the last of its caller - is left to them;
-- nothing is written before it is known that there is none.
local function end_usual()
    local slot, meta = ARGV[1] % 512, redis.pcall('HMGET', KEYS[4], 'seq', 'epoch') -- plan.lua, CALLS_RING
    local sent, before, epoch = redis.pcall('HGET', KEYS[5], slot), tonumber(meta[1] or '') or 0, meta[2]
    -- What was answered begins with the number of its call, behind two bytes.
    if type(sent) == 'table' or sent and string.sub(sent, 3, 2 + #ARGV[1]) == ARGV[1] or before < 1 or not epoch
       or ARGV[2] == '0' or redis.call('TTL', KEYS[5]) < 1800 then
        return
    end
    local fields, unusual = {}, {'plan:told', 'plan:class'}
    for at = 7, MEMBERS - 1, 2 do
        fields[#fields + 1] = ARGV[at]
        local station = string.match(ARGV[at], '^s:(.+)')
        unusual[#unusual + 1] = station and 'plan:wait:' .. station
    end
    local held = redis.pcall('HMGET', KEYS[2], unpack(ARGV, MEMBERS, RUNS - 1))
    for i = 1, n do
        if held[i] ~= ARGV[RUNS + i - 1] then
            return
        end
    end
    local counts = redis.pcall('HMGET', 'plan:count', unpack(fields))
    for i = #fields, 1, -1 do
        local kept = tonumber(string.match(counts[i] or '', '^%d+$'))
        local left = kept and kept + ARGV[6 + 2 * i]
        if not left or left < 1 or kept > 2 ^ 53 then
            return
        end
        counts[2 * i - 1], counts[2 * i] = fields[i], string.format('%d', left)
    end
    local queued, listed = redis.pcall('ZCARD', KEYS[1]), redis.pcall('ZCARD', KEYS[3])
    if type(queued) == 'table' or type(listed) == 'table' or listed <= n or redis.call('EXISTS', unpack(unusual)) > 0
       or redis.call('EXISTS', unpack(ARGV, MEMBERS, RUNS - 1)) ~= n then
        return
    end
    local first, last, added = string.format('%d', before + 1), string.format('%d', before + n)
    if n == 1 then
        local row = cmsgpack.unpack(ARGV[4])[1]
        added = redis.pcall('XADD', 'plan:history', last .. '-0', 'p', row[1], 's', row[2],
                            't', string.sub(now_us, 1, -4), 'r', row[3])
    elseif redis.pcall('XRANGE', 'plan:history', first, '+', 'COUNT', 1)[1] then
        return
    else
        added = redis.pcall('XADD', 'plan:history', last .. '-0', 't', string.sub(now_us, 1, -4), 'n', n, 'm', ARGV[4])
    end
    if type(added) == 'table' then
        return
    end
    if ARGV[5] ~= '' then
        redis.pcall('XADD', 'plan:output', last .. '-0', 't', string.sub(now_us, 1, -4), unpack(cmsgpack.unpack(ARGV[5])))
    end
    if math.floor((before + n) / 64) > math.floor(before / 64) then -- plan.lua, history_trim
        redis.call('XTRIM', 'plan:history', 'MAXLEN', '~', ARGV[2])
        if before + n > ARGV[2] + 0 then
            redis.call('XTRIM', 'plan:history', 'MINID', '~', string.format('%d', before + n - ARGV[2] + 1))
        end
    end
    redis.call('HSET', KEYS[4], 'seq', last)
    redis.call('DEL', unpack(ARGV, MEMBERS, RUNS - 1))
    if WORKS <= #ARGV then
        redis.call('DEL', unpack(ARGV, WORKS))
    end
    redis.call('ZREM', KEYS[1], unpack(ARGV, MEMBERS, RUNS - 1))
    redis.call('ZREM', KEYS[3], unpack(ARGV, PLACES, WORKS - 1))
    redis.call('HDEL', KEYS[2], unpack(ARGV, MEMBERS, RUNS - 1))
    redis.call('HSET', 'plan:count', unpack(counts))
    redis.call('HSET', KEYS[5], slot, cmsgpack.pack({ARGV[1], {epoch, before + 1}}))
    return {now_us, epoch, before + 1}
end

local ended = end_usual()
if ended then
    return ended
end

-- -- whatever they are

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
if ARGV[5] ~= '' and ARGV[2] ~= '0' then
    redis.pcall('XADD', 'plan:output', string.format('%d-0', last), 't', ms, unpack(cmsgpack.unpack(ARGV[5])))
end
history_trim(ARGV[2], last)
redis.call('HSET', KEYS[4], 'seq', string.format('%d', last), 'epoch', epoch)

redis.call('DEL', unpack(ARGV, MEMBERS, RUNS - 1))
redis.call('ZREM', KEYS[1], unpack(ARGV, MEMBERS, RUNS - 1))
redis.call('ZREM', KEYS[3], unpack(ARGV, PLACES, WORKS - 1))
redis.call('HDEL', KEYS[2], unpack(ARGV, MEMBERS, RUNS - 1))
local changes = {}
for at = 7, MEMBERS - 1, 2 do
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
