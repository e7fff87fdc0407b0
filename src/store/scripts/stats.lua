#!lua flags=allow-oom
-- What there is, in numbers.
-- KEYS  1 time set  2 index  3 runs in hand  4 history  5 meta
-- Answers {plans, queued, due, plans with a run that may still answer, outcomes kept, seq, epoch, score
--          of the next plan or '', bytes of memory that Redis uses}
-- Cost  O(log n).
--@include plan.lua
local time = redis.call('TIME')
local now = string.format('%.6f', time[1] + time[2] / 1000000)
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local memory = string.match(redis.call('INFO', 'memory'), 'used_memory:(%d+)') or '0'
-- An entry of the history may hold several outcomes: by their numbers, and at least the entries.
local seq, kept = last_seq(), own('XLEN', KEYS[4])
local oldest = own('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
if oldest then
    kept = math.max(kept, seq - (tonumber(string.match(oldest[1], '^%d+')) - entry_size(oldest[2])))
end
return {redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[1]),
        redis.call('ZCOUNT', KEYS[1], '-inf', now), own('HLEN', KEYS[3]), kept,
        string.format('%.0f', seq), own('HGET', KEYS[5], 'epoch') or '', first[2] or '', memory}
