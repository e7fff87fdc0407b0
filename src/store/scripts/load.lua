#!lua flags=allow-oom
-- Find a plan by its id.
-- KEYS  1 time set  2 runs in hand  3 index
-- ARGV  1 id, 16 hex digits
-- Answers {} there is none, else {member, message, run in hand or '', score or ''}
-- Cost  O(log n).
local held = redis.call('ZRANGEBYLEX', KEYS[3], '[' .. ARGV[1] .. ':', '(' .. ARGV[1] .. ';')[1]
if not held then
    return {}
end
local member = 'plan:msg:' .. string.sub(held, 18) .. ':' .. string.match(ARGV[1], '^0*(%x+)$')
local message = redis.pcall('GET', member)
if type(message) ~= 'string' then
    return {}
end
return {member, message, redis.call('HGET', KEYS[2], member) or '',
        redis.call('ZSCORE', KEYS[1], member) or ''}
