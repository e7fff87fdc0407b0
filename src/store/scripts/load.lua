#!lua flags=allow-oom
-- Find a plan by its id.
-- KEYS  1 time set  2 runs in hand  3 index
-- ARGV  1 id, 16 hex digits
-- Answers {} there is none, else {member, message, run in hand or '', score or ''}
-- Cost  O(log n).
--@include plan.lua
local entry, _, _, member, message = find(ARGV[1])
if not entry then
    return {}
end
return {member, message, own('HGET', KEYS[2], member) or '',
        redis.call('ZSCORE', KEYS[1], member) or ''}
