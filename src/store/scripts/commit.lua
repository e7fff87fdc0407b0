#!lua flags=allow-oom
-- Write what became of a run. Applies only while the run is the plan's current one.
-- KEYS  1 time set  2 message  3 work  4 runs in hand  5 index  6 meta  7 waiting for the target
--       8 failures told  9 the station's last broadcasts
-- ARGV  1 exec_id  2 lease, retry, doubt, next, park or end
--       3 seconds from now (lease, retry, doubt) or the score (next)
--       4 message JSON, '' leaves it  5 participant  6 its result, '' none
--       7 broadcast: none, result or failure  8 1 = due at once when the target connects
--       9 index entry  10 number of the commit
-- Answers {0} the run is not the current one, else {1, seq or 0 = no broadcast, epoch, now in us}.
-- Asked again, as when its answer was lost, a commit that is to be broadcast answers the same.
-- Cost  O(log n).
--@include plan.lua
local held = own('HGET', KEYS[4], KEYS[2])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local now_us = string.format('%.0f', time[1] * 1000000 + time[2])
-- The broadcasts of the last commits, by their number: a ring, so that it is bounded.
local RING = 4096
local slot = ARGV[10] % RING
if ARGV[7] ~= 'none' then
    local number, seq, epoch = string.match(own('HGET', KEYS[9], slot) or '', '^(%d+) (%d+) (%x+)$')
    if number == ARGV[10] then
        return {1, tonumber(seq), epoch, now_us}
    end
end
if not held or string.match(held, '^%d+') ~= ARGV[1] then
    return {0}
end
local station, id = entry_parse(ARGV[9])
if redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('ZREM', KEYS[1], KEYS[2])
    forget(station, id)
    return {0}
end
local mode = ARGV[2]

-- Whether a failure of this plan was told within the last minute, before anything is forgotten.
local broadcast = ARGV[7]
if broadcast == 'failure' then
    local told = tonumber(own('HGET', KEYS[8], KEYS[2]) or '') or 0
    broadcast = math.abs(now - told) < 60 and 'none' or 'result'
    if broadcast == 'result' then
        redis.call('HSET', KEYS[8], KEYS[2], string.format('%.3f', now))
    end
end

if mode == 'end' then
    redis.call('DEL', KEYS[2])
    redis.call('ZREM', KEYS[1], KEYS[2])
    redis.call('ZREM', KEYS[5], ARGV[9])
    forget(station, id)
else
    if ARGV[4] ~= '' then
        redis.call('SET', KEYS[2], ARGV[4])
    end
    if ARGV[6] ~= '' then
        own('HSET', KEYS[3], ARGV[5], ARGV[6])
    end
    if mode == 'park' then
        redis.call('ZREM', KEYS[1], KEYS[2])
    elseif mode == 'next' then
        redis.call('ZADD', KEYS[1], ARGV[3], KEYS[2])
    else
        redis.call('ZADD', KEYS[1], string.format('%.6f', now + ARGV[3]), KEYS[2])
    end
    own(ARGV[8] == '1' and 'SADD' or 'SREM', KEYS[7], KEYS[2])
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

local seq, epoch = 0, ''
if broadcast ~= 'none' then
    seq = (tonumber(own('HGET', KEYS[6], 'seq') or '') or 0) + 1
    epoch = redis.call('HGET', KEYS[6], 'epoch')
    if not epoch or seq == 1 then
        epoch = string.format('%x', time[1]) .. string.format('%05x', time[2])
        redis.call('HSET', KEYS[6], 'epoch', epoch)
    end
    redis.call('HSET', KEYS[6], 'seq', string.format('%.0f', seq))
    own('HSET', KEYS[9], slot, ARGV[10] .. ' ' .. string.format('%.0f', seq) .. ' ' .. epoch)
    if redis.call('TTL', KEYS[9]) < 1800 then
        redis.call('EXPIRE', KEYS[9], 3600)
    end
end
return {1, seq, epoch, now_us}
