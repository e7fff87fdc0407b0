#!lua flags=allow-oom
-- Plans that workers fetch (README 7.9): they are offered, workers take them, say that they live, and report.
-- KEYS  1 time set  2 runs in hand
-- ARGV  the word; station, '' = any; seconds that an offer stands; then
--       of offer: id; exec_id; 1 = it stands offered, and its lease has ended
--       of take: worker; most plans; place to look on from; the limit that the station has by the settings, as in
--       plan:limits; 1 = no other worker asks the station for plans; each `"name":value` that a plan must have
--       of alive: id, in 16 hex digits; worker; the exec_id that it was given, '' = it does not say; its progress,
--       '' = it does not say; 1 = it gives the plan back
--       of report: the first three of alive, with the exec_id; success or fail; reason, '' none; result as JSON, '' none
--       of reported: the same; whether it was accepted before
--       of team: id, in 16 hex digits
-- Answers  of offer: {0} the run is not the current one, or {1, workers that may take it, 1 = the plan's timeout
--          is over, OUTCOME}
--          of take: {place to look on from, '' = that was all; '' or, when a limit keeps plans from being taken, ms
--          until a rate allows the next, 0 = one is taken when a run ends; member, exec_id, ping interval, worker
--          timeout, message, ...}
--          of alive: {1, ping interval, worker timeout}, or {0, why the work is to end}
--          of report, reported: {1, OUTCOME, member, run in flight, message}, {1} it was accepted before and has no
--          part in a run now, or {0, why it is refused}
--          of team: {} there is no such plan, else {member, message, first exec_id, 1 = its run is out, {name, state,
--          ms it started, ms it was heard last, ms it ended, exec_id, reason, result, progress}, ...}
--   OUTCOME: {} as long as it goes on, else {ended, failed, worker that tells, its reason, its result}
-- Cost  O(log n + workers of a team) a plan that is looked at; a take looks at 256.
--@include plan.lua
local LOOK_MAX, BYTES_MAX, CLASS_UNIT = 256, 1048576, 2 ^ 42
local PAUSE, CLOSE = 5, 7 -- values of plan_state
local NO_PLAN, OTHER_REPORT = 'there is no such plan', 'the worker has reported another result of this run'
local STATION, STANDS_MS = ARGV[2], ARGV[3] * 1000
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local now_us, LEASE_S = time[1] * 1000000 + time[2], ARGV[3]
--@include limit_use.lua

-- -- what the message says

local function number(message, field)
    return tonumber(string.match(message, '"' .. field .. '"%s*:%s*(%d+)') or '') or 0
end

-- Names of workers have no braces, and its numbers are small: this object may be read here.
local function rule_of(message)
    local good, rule = pcall(cjson.decode, string.match(message, '"workers"%s*:%s*(%b{})') or '{}')
    rule = good and type(rule) == 'table' and rule or {}
    local only
    for _, name in ipairs(type(rule.only) == 'table' and rule.only or {}) do
        only = only or {}
        only[name] = true
    end
    return {count = tonumber(rule.count) or 1, ping = tonumber(rule.ping_interval) or 30,
            timeout = tonumber(rule.worker_timeout) or 60, again = rule.again == true, only = only}
end

local function is_extra(message)
    return string.find(message, '"extra"%s*:%s*[1-9]') ~= nil
end

-- -- a team: the workers of one run

-- What is kept of a worker. `state`: running, success, fail, or out: it failed in an earlier try.
local STATE, STARTED, HEARD, ENDED, TIMEOUT_S, EXEC, REASON, RESULT, PROGRESS = 1, 2, 3, 4, 5, 6, 7, 8, 9

-- A team and its plan as they are; `at` is the plan's member.
local function read_team(at, station, message)
    local team = {at = at, station = station, message = message, rule = rule_of(message), workers = {},
                  key = 'plan:team:' .. string.sub(at, 10), round = '', try = 0, since = ''}
    local all = own('HGETALL', team.key)
    for i = 1, #all, 2 do
        local good, value = pcall(cmsgpack.unpack, all[i + 1])
        local name = string.match(all[i], '^w:(.*)')
        if good and type(value) == 'table' and name then
            team.workers[name] = value
        elseif good and type(value) == 'table' then
            team.round, team.try, team.since = value[1], value[2], value[3]
        end
    end
    return team
end

local function keep(team, name, worker)
    team.workers[name] = worker
    if worker then
        redis.call('HSET', team.key, 'w:' .. name, cmsgpack.pack(worker))
    else
        redis.call('HDEL', team.key, 'w:' .. name)
    end
end

local function is_late(worker)
    return worker[STATE] == 'running' and now_ms - worker[HEARD] > worker[TIMEOUT_S] * 1000
end

local function drop_late(team)
    for name, worker in pairs(team.workers) do
        if is_late(worker) then
            keep(team, name, nil)
        end
    end
end

-- Whether `one` tells the outcome rather than `other`: who failed, then who ended later.
local function tells_more(one, other)
    for i = 1, 3 do
        if one[i] ~= other[i] then
            return one[i] > other[i]
        end
    end
end

local function tally(team)
    local running, ended, failed, first_end, last = 0, 0, 0, nil, nil
    for name, worker in pairs(team.workers) do
        local state = worker[STATE]
        if state == 'running' then
            local ends = worker[HEARD] + worker[TIMEOUT_S] * 1000 + 1
            running, first_end = running + 1, math.min(first_end or ends, ends)
        elseif state ~= 'out' then
            local tells = {state == 'fail' and 1 or 0, worker[ENDED], name}
            ended, failed = ended + 1, failed + tells[1]
            if not last or tells_more(tells, last) then
                last = tells
            end
        end
    end
    return running, ended, failed, first_end, last and last[3]
end

-- The run of the plan is the one that the team works on.
local function is_current(team, held)
    local round = is_extra(team.message) and 'x' or string.format('%d', number(team.message, 'plan_time'))
    return held and string.find(held, '^%d')
           and (team.round == round or round == 'x' and string.sub(team.round, 1, 1) == 'x')
           and team.try == number(team.message, 'error_count')
end

-- Offer what is free, and have the plan looked at when something of it ends. Gives how many are free, whether the
-- plan's timeout is over, and the outcome.
local function place(team)
    local running, ended, failed, first_end, tells = tally(team)
    local free = math.max(team.rule.count - running - ended, 0)
    local offers, timeout = 'plan:offers:' .. team.station, number(team.message, 'timeout')
    local since_ms = math.floor(tonumber(team.since) / 1000)
    if free > 0 then
        local class = (255 - number(team.message, 'priority')) * 2 + (team.rule.only and 0 or 1)
        own('ZADD', offers, string.format('%.0f', class * CLASS_UNIT + since_ms), team.at)
    else
        own('ZREM', offers, team.at)
    end
    local done = running == 0 and free == 0
    local look = done and now_ms + 1000 or first_end or now_ms + STANDS_MS
    local end_ms = timeout > 0 and since_ms + timeout * 1000 or math.huge
    redis.call('ZADD', KEYS[1], 'XX', string.format('%.3f', math.min(look, math.max(end_ms, now_ms)) / 1000), team.at)
    local last = done and team.workers[tells]
    return free, end_ms <= now_ms and 1 or 0, last and {ended, failed, tells, last[REASON], last[RESULT]} or {}
end

-- The team of the run `exec`: the one that there is, with those who have not failed, or a new one.
local function gather(team, exec, again)
    local extra, try = is_extra(team.message), number(team.message, 'error_count')
    local round = string.format('%d', number(team.message, 'plan_time'))
    if extra then
        round = again and string.sub(team.round, 1, 1) == 'x' and team.round or 'x' .. exec
    end
    if team.round ~= round or try < team.try then
        redis.call('DEL', team.key)
        team.workers, team.since = {}, exec
    elseif try > team.try then
        team.since = exec
        for name, worker in pairs(team.workers) do
            if worker[STATE] ~= 'success' then
                worker[STATE] = 'out'
                keep(team, name, not team.rule.again and worker or nil)
            end
        end
    end
    team.round, team.try = round, try
    redis.call('HSET', team.key, 'team', cmsgpack.pack({team.round, team.try, team.since}))
end

-- -- the words

local words = {}

function words.offer()
    local id, exec, again = ARGV[4], ARGV[5], ARGV[6] == '1'
    local member = message_key(STATION, id)
    local message, held = redis.pcall('GET', member), own('HGET', KEYS[2], member)
    if type(message) ~= 'string' or not held or string.match(held, '^%d+') ~= exec then
        return {0}
    end
    -- A claim of many leaves it to the first sign of life to say that the plan is run: this is it. But one that
    -- was paused or closed since stays so.
    if string.match(message, '"exec_id"%s*:%s*(%d+)') ~= exec and number(message, 'plan_state') < PAUSE then
        message = as_running(message, exec)
        redis.call('SET', member, message)
    end
    -- "?": the end of the lease is no loss. "!": the run is out all the same.
    redis.call('HSET', KEYS[2], member, held_of(string.match(held, '^%d+%+?') .. '?!', revision(message)))
    local team = read_team(member, STATION, message)
    gather(team, exec, again)
    drop_late(team)
    return {1, place(team)}
end

-- Of one that failed: nobody else has come for the next try in so long a time, and nobody else is there.
local OTHERS_US, ALONE = 5 * 1000000, ARGV[1] == 'take' and ARGV[8] == '1'
local function may_try_again(team, worker)
    return worker[STATE] == 'out' and ALONE and now_us - team.since > OTHERS_US
end

-- Whether this worker may take it now, and whether the run begins with it; late workers are removed first.
local function may_take(team, worker)
    local only = team.rule.only
    if only and not only[worker] then
        return false
    end
    drop_late(team)
    local running, ended = tally(team)
    local known = team.workers[worker]
    return (not known or may_try_again(team, known)) and running + ended < team.rule.count, running == 0
end

-- A run is in progress while a worker is at it, and begins with the first: then the limits of its target and its group
-- apply. Returns the names that it is charged to, nil: not now.
local function names_of(team, begins)
    if not begins or not next(limits) then
        return {}
    end
    local group = string.match(own('HGET', CLASS, team.at) or '', ':(.*)$') or ''
    local names = {'s:' .. STATION, 'g:' .. group}
    return left_of(names[1]) > 0 and left_of(names[2]) > 0 and names or nil
end

local function begin_run(team, names, exec)
    for _, name in ipairs(names) do
        use(name, 1)
    end
    charge(names, team.at, exec)
end

local function has_members(message)
    for i = 9, #ARGV do
        if not string.find(message, ARGV[i], 1, true) then
            return false
        end
    end
    return true
end

-- Whether a worker may have the plan of this offer: its team and the names that it is charged to, or nil, and whether
-- the offer stays.
local function look_at_offer(member, worker)
    local message, held = redis.pcall('GET', member), own('HGET', KEYS[2], member)
    local team = type(message) == 'string' and read_team(member, STATION, message)
    local state = team and number(message, 'plan_state')
    if not team or not is_current(team, held) or state == CLOSE then
        return nil, nil, false
    elseif state == PAUSE or not has_members(message) then
        return nil, nil, true
    end
    local may, begins = may_take(team, worker)
    return team, may and names_of(team, begins), true, string.match(held, '^%d+')
end

function words.take()
    local worker, most, from, offers = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), 'plan:offers:' .. STATION
    local page = own('ZRANGE', offers, from, from + LOOK_MAX - 1)
    local answer, taken, bytes, looked, left = {'', ''}, 0, 0, 0, 0
    read_limit('s:' .. STATION, ARGV[7])
    read_set_limits()
    for _, member in ipairs(page) do
        if taken >= most or bytes > BYTES_MAX then
            break
        end
        local team, names, stays, exec = look_at_offer(member, worker)
        looked = looked + 1
        if not stays then
            redis.call('ZREM', offers, member)
        elseif names then
            local rule = team.rule
            begin_run(team, names, exec)
            keep(team, worker, {'running', now_ms, now_ms, 0, rule.timeout, exec, '', ''})
            left = left + (place(team) > 0 and 1 or 0)
            taken, bytes = taken + 1, bytes + #team.message
            for _, value in ipairs({member, exec, rule.ping, rule.timeout, team.message}) do
                answer[#answer + 1] = value
            end
        else
            left = left + 1
        end
    end
    -- Where the station itself is at its limit nothing begins further on.
    if looked == LOOK_MAX and taken < most and not blocked['s:' .. STATION] then
        answer[1] = from + left
    end
    write_limits()
    if wakes_us then
        answer[2] = math.max(math.ceil((wakes_us - now_us) / 1000), 1)
    elseif limits_wait then
        answer[2] = 0
    end
    return answer
end

-- The team and the worker that a message is about; nil: why not.
local function find_worker()
    local _, station, _, member, message = find(ARGV[4])
    if not member or STATION ~= '' and STATION ~= station then
        return nil, NO_PLAN
    end
    local held, name, exec = own('HGET', KEYS[2], member), ARGV[5], ARGV[6]
    local team = read_team(member, station, message)
    local worker = team.workers[name]
    if not is_current(team, held) then
        return nil, 'the run is over'
    elseif not worker then
        return nil, 'the worker is not in the team'
    elseif exec ~= '' and exec ~= worker[EXEC] then
        return nil, 'the worker has another run of this plan now'
    end
    local late = is_late(worker)
    drop_late(team)
    if late then
        place(team)
        return nil, 'the worker was not heard of for longer than worker_timeout'
    end
    return team, worker, held
end

function words.alive()
    local team, worker = find_worker()
    if not team then
        return {0, worker}
    elseif worker[STATE] ~= 'running' then
        return {0, 'the worker has ended its work'}
    end
    local rule = team.rule
    if rule.only and not rule.only[ARGV[5]] then
        keep(team, ARGV[5], nil)
        place(team)
        return {0, 'only: the worker may not do it any more'}
    elseif ARGV[8] == '1' then
        keep(team, ARGV[5], nil)
        place(team)
        return {0, 'the worker has given it back'}
    end
    worker[HEARD] = now_ms
    worker[PROGRESS] = ARGV[7] ~= '' and ARGV[7] or worker[PROGRESS]
    if rule.ping >= worker[TIMEOUT_S] then -- it could not keep the old one with the new pause
        worker[TIMEOUT_S] = rule.timeout
    end
    keep(team, ARGV[5], worker)
    place(team)
    return {1, rule.ping, worker[TIMEOUT_S]}
end

-- -- reports

-- plan:reports holds them beyond their runs, by when they came: a worker whose reply was lost reports again. A member
-- is a worker of one run; the score is the time, and a sum of what was reported.
local REPORTS, REPORTS_MAX, REPORTS_S, SUMS = 'plan:reports', 100000, 86400, 256

local function report_name()
    return string.match(ARGV[4], '^0*(.*)$') .. ' ' .. ARGV[6] .. ' ' .. ARGV[5]
end

local function report_sum()
    return tonumber(string.sub(redis.sha1hex(table.concat(ARGV, ' ', 7, 9)), 1, 2), 16)
end

local function remember_report()
    own('ZADD', REPORTS, string.format('%.0f', now_ms * SUMS + report_sum()), report_name())
    redis.call('ZREMRANGEBYRANK', REPORTS, 0, -REPORTS_MAX - 1)
    redis.call('EXPIRE', REPORTS, REPORTS_S)
end

-- The answer to a report of a run that this worker has no part in now.
local function report_again(why)
    local known = own('ZSCORE', REPORTS, report_name())
    if not known then
        return {0, why}
    elseif tonumber(known) % SUMS ~= report_sum() then
        return {0, OTHER_REPORT}
    end
    return {1}
end

function words.report()
    local state, reason, result = ARGV[7], ARGV[8], ARGV[9]
    local team, worker, held = find_worker()
    if not team then
        return report_again(worker)
    elseif worker[STATE] == 'running' then
        worker[STATE], worker[ENDED], worker[REASON], worker[RESULT] = state, now_ms, reason, result
        keep(team, ARGV[5], worker)
        remember_report()
    elseif worker[STATE] ~= state or worker[REASON] ~= reason or worker[RESULT] ~= result then
        return {0, OTHER_REPORT}
    end
    local _, _, outcome = place(team)
    return {1, outcome, team.at, held, team.message}
end

function words.reported()
    return report_again(NO_PLAN)
end

function words.team()
    local _, station, _, member, message = find(ARGV[4])
    if not member or STATION ~= '' and STATION ~= station then
        return {}
    end
    local team = read_team(member, station, message)
    local answer = {member, message, team.since, is_current(team, own('HGET', KEYS[2], member)) and 1 or 0}
    local names = {}
    for name in pairs(team.workers) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local worker = team.workers[name]
        local state = is_late(worker) and 'timeout' or worker[STATE]
        answer[#answer + 1] = {name, state, worker[STARTED], worker[HEARD], worker[ENDED], worker[EXEC], worker[REASON],
                               worker[RESULT], worker[PROGRESS] or ''}
    end
    return answer
end

return words[ARGV[1]]()
