#!lua flags=allow-oom
-- Write what became of a run: the plan, its result, its place in the queue and the history, in one
-- step. Applies only while the run is the plan's current one, and to the message it was decided on.
-- KEYS  1 time set  2 message  3 work  4 runs in hand  5 index  6 meta  7 waiting for the target
--       8 failures told  9 the station's last broadcasts
-- ARGV  1 exec_id  2 lease, retry, doubt, next, park or end
--       3 seconds from now (lease, retry, doubt) or the score (next); '' = out of the queue
--       4 message JSON, '' leaves it  5 the revision it was decided on, '' = any
--       6 broadcast: none, result or failure  7 1 = due at once when the target connects
--       8 index entry  9 number of the commit
--       10 record for the history, '' none  11 most records kept
--       12 votes: o = they replace the work, c = all of it is answered, oc both, '' neither
--       13, 14, ... participant, its result, ...
-- Answers {0} the run is not the current one, {2, message} it is not the message that was decided on,
-- else {1, seq or 0 = no broadcast, epoch, now in us, {participant, result, ...}}.
-- Asked again, as when its answer was lost, the end of a run answers the same.
-- Cost  O(log n).
--@include plan.lua
local held = own('HGET', KEYS[4], KEYS[2])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local now_us = string.format('%.0f', time[1] * 1000000 + time[2])
-- The broadcasts of the last commits, by their number: a ring, so that it is bounded.
-- Votes are large: of fewer polls they are kept.
local RING, VOTES_RING = 4096, 16
local slot, votes_slot = ARGV[9] % RING, 'v' .. ARGV[9] % VOTES_RING
if ARGV[6] ~= 'none' then
    local number, seq, epoch = string.match(own('HGET', KEYS[9], slot) or '', '^(%d+) (%d+) (%x*)$')
    if number == ARGV[9] then
        local kept = own('HGET', KEYS[9], votes_slot)
        kept = kept and cmsgpack.unpack(kept) or {}
        return {1, tonumber(seq), epoch, now_us, kept[1] == number and kept[2] or {}}
    end
end
if not held or string.match(held, '^%d+') ~= ARGV[1] then
    return {0}
end
local station, id = entry_parse(ARGV[8])
local message = redis.pcall('GET', KEYS[2])
if type(message) ~= 'string' then
    redis.call('ZREM', KEYS[1], KEYS[2])
    forget(station, id)
    return {0}
end
if ARGV[5] ~= '' and revision(message) ~= ARGV[5] then
    -- Its own write, when it is asked again.
    if ARGV[4] ~= '' and revision(message) == revision(ARGV[4]) then
        return {1, 0, '', now_us, {}}
    end
    return {2, message}
end
local mode = ARGV[2]

-- Whether a failure of this plan was told within the last minute, before anything is forgotten.
local broadcast = ARGV[6]
if broadcast == 'failure' then
    local last = tonumber(own('HGET', KEYS[8], KEYS[2]) or '') or 0
    broadcast = math.abs(now - last) < 60 and 'none' or 'result'
    if broadcast == 'result' then
        redis.call('HSET', KEYS[8], KEYS[2], string.format('%.3f', now))
    end
end

local seq = (broadcast ~= 'none' or ARGV[10] ~= '') and last_seq() or 0
local epoch = ''
if broadcast ~= 'none' then
    seq = seq + 1
    epoch = redis.call('HGET', KEYS[6], 'epoch')
    if not epoch or seq == 1 then
        epoch = string.format('%x', time[1]) .. string.format('%05x', time[2])
        redis.call('HSET', KEYS[6], 'epoch', epoch)
    end
    redis.call('HSET', KEYS[6], 'seq', string.format('%.0f', seq))
end
local told = broadcast ~= 'none' and seq or 0
if ARGV[6] ~= 'none' then
    own('HSET', KEYS[9], slot, ARGV[9] .. ' ' .. string.format('%.0f', told) .. ' ' .. epoch)
    if redis.call('TTL', KEYS[9]) < 1800 then
        redis.call('EXPIRE', KEYS[9], 3600)
    end
end
if ARGV[10] ~= '' then
    remember(seq, broadcast ~= 'none', station, id, time, ARGV[10], ARGV[11])
end

local closes = string.find(ARGV[12], 'c', 1, true)
if string.find(ARGV[12], 'o', 1, true) then
    redis.call('DEL', KEYS[3])
end
if #ARGV > 12 and (mode ~= 'end' or closes) then
    own('HSET', KEYS[3], unpack(ARGV, 13))
end
local votes = closes and own('HGETALL', KEYS[3]) or {}
if closes then
    own('HSET', KEYS[9], votes_slot, cmsgpack.pack({ARGV[9], votes}))
end

if mode == 'end' then
    redis.call('DEL', KEYS[2])
    redis.call('ZREM', KEYS[1], KEYS[2])
    index_remove(ARGV[8], station, message)
    forget(station, id)
else
    if ARGV[4] ~= '' then
        redis.call('SET', KEYS[2], ARGV[4])
    end
    if mode == 'park' or ARGV[3] == '' then
        redis.call('ZREM', KEYS[1], KEYS[2])
    elseif mode == 'next' then
        redis.call('ZADD', KEYS[1], ARGV[3], KEYS[2])
    else
        redis.call('ZADD', KEYS[1], string.format('%.6f', now + ARGV[3]), KEYS[2])
    end
    own(ARGV[7] == '1' and 'SADD' or 'SREM', KEYS[7], KEYS[2])
    if mode == 'doubt' or mode == 'lease' then
        local run = string.match(held, '^%d+%+?')
        redis.call('HSET', KEYS[4], KEYS[2], mode == 'doubt' and run .. '?' or run)
    elseif mode == 'retry' and string.find(held, '+', 1, true) then
        -- No run is in hand, but one that ran out of its lease may still answer.
        redis.call('HSET', KEYS[4], KEYS[2], '+')
    else
        redis.call('HDEL', KEYS[4], KEYS[2])
    end
end
return {1, told, epoch, now_us, votes}
