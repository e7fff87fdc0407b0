#!lua flags=allow-oom
-- Delete a plan, in whatever state it is.
-- KEYS  1 time set  2 runs in hand  3 index  4 failures told
-- ARGV  1 id, 16 hex digits  2 the station it must be of, '' = any
-- Answers 1 deleted, 0 there was none.
-- Cost  O(log n).
local held = redis.call('ZRANGEBYLEX', KEYS[3], '[' .. ARGV[1] .. ':', '(' .. ARGV[1] .. ';')[1]
if not held or (ARGV[2] ~= '' and ARGV[2] ~= string.sub(held, 18)) then
    return 0
end
local name = string.sub(held, 18) .. ':' .. string.match(ARGV[1], '^0*(%x+)$')
local member = 'plan:msg:' .. name
redis.call('ZREM', KEYS[3], held)
redis.call('ZREM', KEYS[1], member)
redis.call('HDEL', KEYS[2], member)
redis.call('HDEL', KEYS[4], member)
redis.call('SREM', 'plan:wait:' .. string.sub(held, 18), member)
return redis.call('DEL', member, 'plan:work:' .. name) > 0 and 1 or 0
