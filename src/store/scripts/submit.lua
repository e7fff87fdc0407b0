#!lua
-- Store a new plan, or tell what stands under its id. Refused by Redis itself when memory is full.
-- KEYS  1 time set  2 message  3 index
-- ARGV  1 id, 16 hex digits  2 station  3 score  4 message JSON
-- Answers {1} stored, {0, station, message} the id is in use: the caller compares.
-- Cost  O(log n).
local held = redis.call('ZRANGEBYLEX', KEYS[3], '[' .. ARGV[1] .. ':', '(' .. ARGV[1] .. ';')[1]
if held then
    local station = string.sub(held, 18)
    local id = string.match(ARGV[1], '^0*(%x+)$')
    local message = redis.call('GET', 'plan:msg:' .. station .. ':' .. id)
    if message then
        return {0, station, message}
    end
    -- An index entry whose message was deleted by hand: the id is free.
    redis.call('ZREM', KEYS[3], held)
end
redis.call('SET', KEYS[2], ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[3], KEYS[2])
redis.call('ZADD', KEYS[3], 0, ARGV[1] .. ':' .. ARGV[2])
return {1}
