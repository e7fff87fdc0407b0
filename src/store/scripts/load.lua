#!lua flags=allow-oom
-- Find a plan by its id.
-- KEYS  1 runs in hand  2 index
-- ARGV  1 id, 16 hex digits  2 1 = with the votes
-- Answers {} there is none, else {member, message, run in hand or '', {participant, result, ...} of a
--         vote}
-- Cost  O(log n).
--@include plan.lua
local entry, _, _, member, message = find(ARGV[1])
if not entry then
    return {}
end
local is_vote = ARGV[2] == '1' and string.find(message, '"vote"%s*:%s*{')
local held = own('HGET', KEYS[1], member) or ''
return {member, as_running(message, held), held,
        is_vote and own('HGETALL', 'plan:work:' .. string.sub(member, 10)) or {}}
