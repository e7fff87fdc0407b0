#!lua flags=allow-oom
-- Find a plan by its id.
-- KEYS  1 runs in hand  2 index
-- ARGV  1 id, 16 hex digits  2 votes = with the votes, place = with its place in the queue
-- Answers {} there is none, else {member, message, run in hand or '', {participant, result, ...} of a
--         vote, or {score in the queue or '', 1 = put aside for its target, 1 = due when that connects}}
-- Cost  O(log n).
--@include plan.lua
local entry, _, _, member, message = find(ARGV[1])
if not entry then
    return {}
end
local held = own('HGET', KEYS[1], member) or ''
local function place()
    local station = string.match(member, '^plan:msg:(.-):')
    return {redis.call('ZSCORE', 'plan:time:set', member) or '',
            own('ZSCORE', 'plan:held:' .. station, member) and '1' or '',
            own('ZSCORE', 'plan:wait:' .. station, member) and '1' or ''}
end
if ARGV[2] == 'place' then
    return {member, as_running(message, held), held, place()}
end
local is_vote = ARGV[2] == 'votes' and string.find(message, '"vote"%s*:%s*{')
return {member, as_running(message, held), held,
        is_vote and own('HGETALL', 'plan:work:' .. string.sub(member, 10)) or {}}
