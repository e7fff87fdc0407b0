#!lua flags=allow-oom
-- Store a plan that management changed, if it is still the one that was read.
-- KEYS  1 time set  2 message  3 runs in hand  4 waiting for the target
-- ARGV  1 the revision that was read  2 message JSON
--       3 place in the queue: keep, out, now, a score, or +SECONDS from now
--       4 the run that was out when it was read, '' none
--       5 its class from now on (plan:class), '' none
--       6 record for the history of occurrences that this drops, '' none  7 most records kept
-- Answers 1 stored, 2 it is another one now, 0 there is none.
-- Cost  O(log n).
--@include plan.lua
local message = redis.pcall('GET', KEYS[2])
if type(message) ~= 'string' then
    return 0
end
local held = own('HGET', KEYS[3], KEYS[2]) or ''
local run = string.match(held, '^%d+') or ''
if revision(message) ~= ARGV[1] or run ~= ARGV[4] then
    return 2
end
redis.call('SET', KEYS[2], ARGV[2])
-- Another caller may have its key: whose it is now is whose it counts as when it is gone.
local before, after = caller_of(message), caller_of(ARGV[2])
if before ~= after then
    count({[before] = -1, [after] = 1})
end
local class = own('HGET', 'plan:class', KEYS[2]) or ''
if class ~= ARGV[5] then
    -- In a lane it stands no more: it is due again, for another one.
    local station = string.match(KEYS[2], '^plan:msg:(.-):')
    local lane = lane_key(station, class)
    local since = own('ZSCORE', lane, KEYS[2])
    if stays_in_lane(redis.call('ZSCORE', KEYS[1], KEYS[2]), since) then
        redis.call('ZREM', lane, KEYS[2])
        redis.call('ZADD', KEYS[1], since, KEYS[2])
    end
    if ARGV[5] == '' then
        own('HDEL', 'plan:class', KEYS[2])
    else
        own('HSET', 'plan:class', KEYS[2], ARGV[5])
    end
end
if held ~= '' then
    held = held_of(held, revision(ARGV[2]))
    redis.call('HSET', KEYS[3], KEYS[2], held)
end
local place = ARGV[3]
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
if place ~= 'keep' then
    -- It is for its target no more that it waits.
    own('ZREM', KEYS[4], KEYS[2])
end
if place == 'out' then
    redis.call('ZREM', KEYS[1], KEYS[2])
elseif place ~= 'keep' then
    local seconds = string.match(place, '^%+(%d+)$')
    local score = place == 'now' and now or seconds and now + seconds
    redis.call('ZADD', KEYS[1], score and string.format('%.6f', score) or place, KEYS[2])
end
if ARGV[6] ~= '' then
    local station, id = string.match(KEYS[2], '^plan:msg:(.-):(.*)$')
    local seq = last_seq()
    remember(seq, false, station, id, milliseconds(time), ARGV[6], ARGV[7])
    history_trim(ARGV[7], seq)
end
if place ~= 'keep' and place ~= 'out' and string.sub(place, 1, 1) ~= '+' then
    -- No run is in hand: an old one is of what was before, though its answer may still come.
    local expected = string.find(held, '+', 1, true) or held ~= '' and not string.find(held, '?', 1, true)
    if expected then
        own('HSET', KEYS[3], KEYS[2], '+')
    else
        own('HDEL', KEYS[3], KEYS[2])
    end
end
return 1
