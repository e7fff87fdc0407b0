#!lua flags=allow-oom
-- Find a plan by its id.
-- KEYS  1 runs in hand  2 index
-- ARGV  1 id, 16 hex digits  2 votes = with the votes, work = with the last results of any plan,
--       place = with its place in the queue
-- Answers {} there is none, else {member, message, run in hand or '', {participant, result, ...}, or {score in the queue or '', 1 = put aside for its target, 1 = due when that connects,
--         how many are before it when it is in a lane, '' = it is in none; then of the target and of the group:
--         limit, runs in flight, time in us up to which the rate is used up; each '' = none; then 1 = it is one of
--         these runs}}
-- Cost  O(log n), and O(lanes of the target).
--@include plan.lua
local entry, _, _, member, message = find(ARGV[1])
if not entry then
    return {}
end
local held = own('HGET', KEYS[1], member) or ''
local station = string.match(member, '^plan:msg:(.-):')

-- Those of a higher priority, and the older ones of its own lane.
local function before(class, place)
    local priority, plans = tonumber(string.match(class, '^%d+') or '0'), place
    for _, other in ipairs(own('ZRANGE', 'plan:lanes:' .. station, 0, -1)) do
        if tonumber(string.match(other, '^%d+') or '0') > priority then
            plans = plans + own('ZCARD', lane_key(station, other))
        end
    end
    return plans
end

local function add_limit(answer, name)
    answer[#answer + 1] = own('HGET', 'plan:limits', name) or ''
    answer[#answer + 1] = math.max(own('ZCARD', 'plan:busy:' .. name) - 1, 0)
    answer[#answer + 1] = own('HGET', 'plan:tokens', name) or ''
end

local function place()
    local class = own('HGET', 'plan:class', member) or ''
    local lane, score = lane_key(station, class), redis.call('ZSCORE', 'plan:time:set', member)
    local is_in_lane = stays_in_lane(score, own('ZSCORE', lane, member))
    local answer = {score or '', (is_in_lane or own('ZSCORE', 'plan:held:' .. station, member)) and '1' or '',
                    own('ZSCORE', 'plan:wait:' .. station, member) and '1' or '',
                    is_in_lane and before(class, redis.call('ZRANK', lane, member)) or ''}
    local group = string.match(class, ':(.*)$') or ''
    add_limit(answer, 's:' .. station)
    add_limit(answer, 'g:' .. group)
    answer[#answer + 1] = (own('ZSCORE', 'plan:busy:s:' .. station, member)
                           or own('ZSCORE', 'plan:busy:g:' .. group, member)) and '1' or ''
    return answer
end
if ARGV[2] == 'place' then
    return {member, as_running(message, held), held, place()}
end
local with_work = ARGV[2] == 'work' or ARGV[2] == 'votes' and string.find(message, '"vote"%s*:%s*{')
return {member, as_running(message, held), held,
        with_work and own('HGETALL', 'plan:work:' .. string.sub(member, 10)) or {}}
