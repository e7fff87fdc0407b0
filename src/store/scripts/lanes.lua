-- Part of claim.lua: plans of which some go before others, and targets and groups that run only so many.
-- What is due of such a target is put into lanes first, and taken from there: the highest priority first, groups
-- of the same one in turn, in each the oldest first, as far as the limits of the target and the group allow.
-- plan:lanes:STATION holds the lanes of a target, "PRIORITY:GROUP", by when they were served last.

local LANE_S = 3600 -- so long what is in a lane is not looked at in the queue
local LANES_MAX = 256 -- plans put into lanes in a claim, before its look at older ones ends
local POPS_MAX = 2048 -- from lanes in a claim, also of those that are not there any more

local laned, class_of, into_lanes, charged = {}, {}, {}, {}
local fetched = {} -- targets whose plans workers fetch: limits hold when they take them (team.lua)
local has_classes, pops = false, 0

-- The names that a plan which is run out of turn counts for, as any run does.
local function charge_out_of_turn(member, station)
    local class = has_classes and own('HGET', CLASS, member) or '0:'
    local names = {'s:' .. station, 'g:' .. (string.match(class, ':(.*)$') or '')}
    left_of(names[1])
    left_of(names[2])
    return names
end

-- -- into lanes

-- Which of them have a priority or a group: what is due of their targets goes into lanes from here on.
local function look_at_classes(page)
    if not has_classes or #page == 0 then
        return
    end
    for i, class in ipairs(own('HMGET', CLASS, unpack(page))) do
        local station = class and member_parse(page[i])
        if station and room[station] then
            class_of[page[i]], laned[station] = class, true
        end
    end
end

-- What was put aside for a target before it had lanes goes into them.
local function aside_into_lanes(station)
    local aside_key = 'plan:held:' .. station
    local held, page = own('ZPOPMIN', aside_key, AT_ONCE), {}
    for i = 1, #held, 2 do
        if redis.call('ZSCORE', KEYS[1], held[i]) == held[i + 1] then
            page[#page + 1] = held[i]
        end
    end
    look_at_classes(page)
    for _, member in ipairs(page) do
        into_lanes[#into_lanes + 1] = member
    end
    if #held == 2 * AT_ONCE then
        tell_aside(station)
    end
end

-- A plan stands in its lane by when it was due, also when it comes there again.
local function put_into_lane(key, lane)
    local known, rows, later = own('ZMSCORE', key, unpack(lane.members)), {}, {}
    for i, member in ipairs(lane.members) do
        local since = known[i]
        if not stays_in_lane(lane.scores[i], since) then
            since = math.max(tonumber(lane.scores[i]) or now_us / 1000000, 0)
        end
        local units = math.ceil((now_us / 1000000 + LANE_S - since) / LANE_UNIT)
        rows[2 * i - 1], rows[2 * i] = string.format('%.6f', since), member
        later[2 * i - 1], later[2 * i] = string.format('%.6f', since + units * LANE_UNIT), member
    end
    redis.call('ZADD', KEYS[1], unpack(later))
    redis.call('ZADD', key, unpack(rows))
    own('ZADD', 'plan:lanes:' .. lane.station, 'NX', exec, lane.class)
    redis.call('EXPIRE', key, 4 * LANE_S)
    redis.call('EXPIRE', 'plan:lanes:' .. lane.station, 4 * LANE_S)
    -- Whose run was lost has no place until it is run again. Of those that workers fetch they may be at work.
    for _, name in ipairs({'s:' .. lane.station, 'g:' .. lane.group}) do
        if limits[name] and limits[name].most and not fetched[lane.station] then
            own('ZREM', 'plan:busy:' .. name, unpack(lane.members))
        end
    end
end

local function put_into_lanes()
    local lanes = {}
    local scores = #into_lanes > 0 and redis.call('ZMSCORE', KEYS[1], unpack(into_lanes))
    for i, member in ipairs(into_lanes) do
        local station, class = member_parse(member), class_of[member] or '0:'
        local key = lane_key(station, class)
        local lane = lanes[key] or {station = station, class = class, group = string.match(class, ':(.*)$') or '',
                                    members = {}, scores = {}}
        lanes[key] = lane
        lane.members[#lane.members + 1] = member
        lane.scores[#lane.scores + 1] = scores[i]
    end
    for key, lane in pairs(lanes) do
        put_into_lane(key, lane)
    end
end

-- -- from lanes

-- At most so many of a lane that are there still.
local function pop(lane, want)
    local held, first = own('ZPOPMIN', lane.key, want), {}
    pops = pops + #held / 2
    lane.empty = #held < 2 * want or redis.call('EXISTS', lane.key) == 0
    for i = 1, #held, 2 do
        first[#first + 1] = held[i]
    end
    local found = 0
    for i, score in ipairs(#first > 0 and redis.call('ZMSCORE', KEYS[1], unpack(first)) or {}) do
        if stays_in_lane(score, held[2 * i]) and not chosen[first[i]] then
            lane.got[#lane.got + 1] = first[i]
            found = found + 1
        end
    end
    return found
end

-- How many more runs of a lane may begin.
local function left_for(station, group)
    return fetched[station] and NO_LIMIT or math.min(left_of('s:' .. station), left_of('g:' .. group))
end

-- Lanes of one priority: each gets its share, and what one leaves the others get. They are served one plan of
-- each after the other; who got none is the first next time.
local function pop_level(station, level, limit)
    local live
    repeat
        local share, some = math.ceil(limit / math.max(live or #level, 1)), false
        live = 0
        for _, lane in ipairs(level) do
            local want = math.min(share, limit, left_for(station, lane.group))
            if not lane.empty and want > 0 and pops < POPS_MAX then
                local found = pop(lane, want)
                limit = limit - found
                if not fetched[station] then
                    use('s:' .. station, found)
                    use('g:' .. lane.group, found)
                end
                some, live = true, live + (lane.empty and 0 or 1)
            end
        end
    until not some or limit <= 0
    return limit
end

-- When a lane is served is told by the next run's number, which grows with each claim that takes any: behind
-- those that came in this claim, before those that come in the next one.
local served = 0
local function take_level(station, level)
    local longest = 0
    for _, lane in ipairs(level) do
        longest = math.max(longest, #lane.got)
        if lane.empty then
            redis.call('ZREM', 'plan:lanes:' .. station, lane.class)
        elseif #lane.got > 0 then
            served = served + 1
            redis.call('ZADD', 'plan:lanes:' .. station, exec + served - 0.5, lane.class)
        end
    end
    for n = 1, longest do
        for _, lane in ipairs(level) do
            if lane.got[n] then
                local i = #members + 1
                members[i] = lane.got[n]
                stations[i], ids_at[i] = member_parse(lane.got[n])
                charged[i] = not fetched[station] and {'s:' .. station, 'g:' .. lane.group} or nil
            end
        end
    end
end

local function lanes_of(station)
    local lanes = {}
    for turn, class in ipairs(own('ZRANGE', 'plan:lanes:' .. station, 0, -1)) do
        local priority, group = string.match(class, '^(%d+):(.*)$')
        lanes[turn] = {class = class, priority = tonumber(priority) or 0, group = group or '', turn = turn,
                       key = lane_key(station, class), got = {}}
    end
    table.sort(lanes, function(one, other)
        if one.priority ~= other.priority then
            return one.priority > other.priority
        end
        return one.turn < other.turn
    end)
    return lanes
end

-- Tell what is left: whether it waits for a limit only, or for the target, or the next claim.
local function tell_left(station, lanes)
    local waits, limited = false, false
    for _, lane in ipairs(lanes) do
        local left = not lane.empty and left_for(station, lane.group)
        waits = waits or left and left > 0
        limited = limited or left and left <= 0
    end
    if waits then
        tell_aside(station)
    elseif limited and not told_aside[station] then
        targets_aside[#targets_aside + 1] = station .. ' limit'
    end
end

-- Take at most `limit` plans of a target.
local function serve(station, limit)
    local lanes, at = lanes_of(station), 1
    while lanes[at] do
        local level = {}
        while lanes[at] and lanes[at].priority == (level[1] or lanes[at]).priority do
            level[#level + 1] = lanes[at]
            at = at + 1
        end
        limit = limit > 0 and pop_level(station, level, limit) or 0
        take_level(station, level)
    end
    tell_left(station, lanes)
end

-- All targets with lanes, each with its share of what is left of the claim.
local function serve_all()
    local count = 0
    for at = 9, #ARGV, 5 do
        count = count + (laned[ARGV[at]] and 1 or 0)
    end
    for at = 9, #ARGV, 5 do
        local station = ARGV[at]
        if laned[station] then
            serve(station, math.max(math.min(room[station], math.ceil((most - #members) / count)), 0))
            count = count - 1
        end
    end
end

-- Whether there is anything of this, and what is known before the look at what is due.
local function prepare_lanes()
    has_classes = redis.call('EXISTS', CLASS) == 1
    for at = 9, #ARGV, 5 do
        read_limit('s:' .. ARGV[at], ARGV[at + 4])
    end
    read_set_limits()
    for at = 9, #ARGV, 5 do
        local station = ARGV[at]
        fetched[station] = ARGV[at + 2] == 'pull' or nil
        laned[station] = limits['s:' .. station] ~= nil and not fetched[station]
                         or ARGV[at + 3] == '1' and redis.call('EXISTS', 'plan:lanes:' .. station) == 1 or nil
    end
    return has_classes or next(laned) ~= nil
end
