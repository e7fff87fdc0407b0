#!lua flags=allow-oom
-- Take the plans that are due by Redis' clock: each gets a new exec_id, and its score becomes the end
-- of its lease, so that a station that dies leaves nothing to repair: the plan is due again then.
-- A claim has a number: asked again, as when its answer was lost, it gives the same plans and runs.
-- KEYS  1 time set  2 runs in hand  3 meta  4 index  5 the station's last claim
-- ARGV  1 most plans to take  2 first lease in seconds, until a heartbeat  3 number of the claim
--       4 most outcomes kept
--       5 score up to which the claim before has looked, '' = none
--       6 plans that are due within so many microseconds are taken too  7 lease in seconds after a heartbeat
--       8 time in us from which on it takes nothing, '' = none: the claim waited for Redis, and later writes of
--       the station are queued after it
--       then of each target that takes no more than so many  +1 its name  +2 how many  +3 what the
--       others wait for: next = the next claim, held = they are parked; "held MEMBER" = and this one
--       is taken when it is due, as a probe; pull = next, and no limit applies here: workers fetch its plans
--       +4 1 = some are parked, or in lanes  +5 its limit in the settings, as in plan:limits
-- Answers {now in us, score of the first plan not due or '', {members without a sound message}, score
--          up to which this claim has looked, the sum of 1 = there are more due, 2 = some were put into lanes,
--          4 = some there wait until a run ends; {targets that plans are aside for; behind one " limit":
--          nothing but limits keeps them}, 1 = without messages, member, "exec_id[ again lost]", message, ...}
--   The score is also when a rate allows the next run.
--   message: as it was before. Of many plans it is left to the caller to read them: a script that takes
--   hundreds of long texts in its hands is slow
--   "exec_id[ again lost]": behind it "@MICROSECONDS" of one that is due only then. A number, where nothing is
--   behind it
--   exec_id: that moment, or now; or a larger number if that was used up
--   again: 1 an earlier run has not ended, 2 and one was in hand until now
--   lost: that one, which had no result within its lease, '' = none
-- What became due since the claim before is looked at even when there are many older plans: those of one
-- target do not wait for another's. The plans of one target are taken in their order, as far as some
-- hundred older ones tell. Put aside = in plan:held:STATION, and in the queue due when the lease
-- ends, as if they were claimed: they are taken from there when the target takes plans again.
-- Cost  O(log n) a plan.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local is_late = ARGV[8] ~= '' and now_us >= tonumber(ARGV[8])

-- -- one plan, or none, as usual

-- All of it without a function of those below: to make them takes longer than what a claim of one plan does.
-- Whatever is unusual - several that are due, an earlier run, a target that takes no more, a message made by
-- hand, a key of another type - is left to them; nothing is written before it is known that there is none.
local function claim_one()
    local digits = string.format('%06d', time[2])
    local now, now_text = time[1] .. '.' .. digits, time[1] .. digits
    local first = redis.pcall('ZRANGE', KEYS[1], 0, 1, 'WITHSCORES') -- the score of the second is the next
    local reach = (now_us + ARGV[6]) / 1000000
    local member, is_due = first[1], first[2] and tonumber(first[2]) <= reach
    local asked = redis.pcall('GET', KEYS[5])
    -- It begins with the number of the claim it is of, behind two bytes.
    if first.err or type(asked) == 'table' or asked and string.sub(asked, 3, 2 + #ARGV[3]) == ARGV[3] then
        return
    end
    local station, id = string.match(member or '', '^plan:msg:([%w_.-]+):([1-9a-f][0-9a-f]*)$')
    local room = tonumber(ARGV[1])
    for at = 9, #ARGV, 5 do
        if ARGV[at + 3] == '1' or ARGV[at] == station and ARGV[at + 4] ~= '' then
            return
        elseif ARGV[at] == station then
            room = math.min(room, ARGV[at + 1])
        end
    end
    local exec, listed = redis.pcall('HGET', KEYS[3], 'exec'), redis.pcall('ZCARD', KEYS[4])
    if type(exec) == 'table' or type(listed) == 'table'
       or ARGV[6] ~= '0' and (tonumber(exec or 0) or 0) >= now_us + ARGV[6] then
        return
    elseif not is_due then
        return {now_text, first[2] or '', {}, now, 0, {}, 0}
    elseif not id or #station > 64 or #id > 16 or #id == 16 and id > '7fffffffffffffff' or room < 1
           or first[4] and tonumber(first[4]) <= reach then
        return
    end
    local held = redis.pcall('HGET', KEYS[2], member)
    local message = redis.pcall('GET', member)
    -- As the station writes it (plan.lua, has_head).
    local number = type(message) == 'string' and string.match(message, '^{"exec_id":................'
                   .. ',"exec_time":..........,"plan_state":%d,"revision":(%d+)')
    local entry = string.sub('0000000000000000', #id + 1) .. id .. ':' .. station
    local run = math.max(now_us, math.floor(first[2] * 1000000 + 0.5))
    local text = string.format('%d', run)
    if held or not number or not ((tonumber(exec or 0) or run) < run)
       or redis.pcall('ZSCORE', KEYS[4], entry) ~= '0' or #text ~= 16
       or redis.call('EXISTS', 'plan:wait:' .. station, 'plan:class', 'plan:limits') > 0 then
        return
    end
    local lease_end = now_us / 1000000 + ARGV[2]
    local lease_end_text = string.format('%.6f', lease_end)
    redis.call('ZADD', KEYS[1], lease_end_text, member)
    redis.call('HSET', KEYS[2], member, text .. ' ' .. number)
    redis.call('HSET', KEYS[3], 'exec', text)
    redis.call('SETRANGE', member, 0, '{"exec_id":' .. text .. ',"exec_time":' .. string.sub(text, 1, 10)
                                      .. ',"plan_state":2')
    redis.call('SET', KEYS[5], cmsgpack.pack({ARGV[3], run, run, {}}), 'EX', 3600)
    local next_score = first[4] and tonumber(first[4]) < lease_end and first[4] or lease_end_text
    local row = run > now_us and text .. '@' .. text or run
    return {now_text, next_score, {}, now, 0, {}, 0, member, row, message}
end

-- The same for many, of which the caller reads the messages: all of them are new runs, of targets that take plans.
-- It ends when their room is taken: plans of targets that nobody knows, which can only fail, come when they are first.
-- So many are given with their messages, and these say at once that they are run; the bytes of a reply are bounded
-- too; and so are the plans of targets that take no more now, before the look ends.
local FEW = 32
local BYTES_MAX = 4194304
local PASS_MAX = 64
local LONG = string.rep(' ', 100)

local function claim_many()
    local now = time[1] .. '.' .. string.format('%06d', time[2])
    local most, room, rooms, unusual = tonumber(ARGV[1]), 0, {}, {'plan:class', 'plan:limits'}
    for at = 9, #ARGV, 5 do
        if string.find(ARGV[at + 2], '^held') or ARGV[at + 3] == '1' or ARGV[at + 4] ~= '' then
            return
        end
        rooms[ARGV[at]] = tonumber(ARGV[at + 1])
        room = room + rooms[ARGV[at]]
        unusual[#unusual + 1] = 'plan:wait:' .. ARGV[at]
    end
    -- What became due since the claim before may be of others: then they have their part.
    local function some_came()
        return ARGV[5] ~= '' and redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[5], now) > 0
    end
    local due, queued = redis.pcall('ZCOUNT', KEYS[1], '-inf', now), redis.pcall('ZCARD', KEYS[1])
    local asked, exec = redis.pcall('GET', KEYS[5]), redis.pcall('HGET', KEYS[3], 'exec')
    local listed = redis.pcall('ZCARD', KEYS[4])
    if type(due) == 'table' or due <= FEW or type(listed) == 'table' or listed < queued or type(exec) == 'table'
       or type(asked) == 'table' or asked and string.sub(asked, 3, 2 + #ARGV[3]) == ARGV[3]
       or redis.call('EXISTS', unpack(unusual)) > 0 or due > most * 3 / 4 and some_came() then
        return
    end
    most = math.min(most, room)

    local call, find, format = redis.call, string.find, string.format
    local lease_end = format('%.6f', now_us / 1000000 + ARGV[2])
    local first = math.max((tonumber(exec or '') or 0) + 1, now_us)
    local answer, runs, queue = {format('%d', now_us), '', {}, now, 0, {}, 1}, {}, {}
    local n, seen, passed, bytes = 0, 0, 0, 0
    local prefix, station, left, id_at, size_max = '?', '', nil, 0, 0

    while n < most and seen < due and passed < PASS_MAX do
        local members = call('ZRANGE', KEYS[1], seen, math.min(due, seen + most - n) - 1)
        local held = redis.pcall('HMGET', KEYS[2], unpack(members))
        for i = 1, #members do
            local member = members[i]
            if find(member, prefix, 1, true) ~= 1 then
                rooms[station] = left
                station = string.match(member, '^plan:msg:([%w_.-]+):') or ''
                prefix, left = 'plan:msg:' .. station .. ':', rooms[station]
                id_at, size_max = #prefix + 1, #prefix + 16
            end
            if not left or #station > 64 or not find(member, '^[1-9a-f][0-9a-f]*$', id_at)
               or #member >= size_max and (#member > size_max or member > prefix .. '7fffffffffffffff') then
                return
            elseif left > 0 then
                local size, run, at = redis.pcall('STRLEN', member), first + n, 2 * n
                if held[i] ~= false or size == 0 or type(size) == 'table' then
                    return
                end
                queue[at + 1], queue[at + 2] = lease_end, member
                runs[at + 1], runs[at + 2] = member, format('%d =', run) -- plan.lua, AS_GIVEN
                answer[at + 8], answer[at + 9] = member, run
                left, bytes, n = left - 1, bytes + size, n + 1
            else
                passed = passed + 1
                if passed == PASS_MAX then
                    break
                end
            end
        end
        seen = seen + #members
    end
    if n <= FEW or bytes > BYTES_MAX or n < most and ARGV[6] ~= '0' or passed == PASS_MAX and some_came() then
        return
    end
    call('ZADD', KEYS[1], unpack(queue))
    -- It makes a table of them: Redis would look through a list of hundreds.
    call('HSET', KEYS[2], 'long', LONG)
    call('HSET', KEYS[2], unpack(runs))
    call('HDEL', KEYS[2], 'long')
    call('HSET', KEYS[3], 'exec', format('%d', first + n - 1))
    call('SET', KEYS[5], cmsgpack.pack({ARGV[3], first, first + n - 1, {}}), 'EX', 3600)
    answer[2] = call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''
    answer[5] = due > n and 1 or 0
    return answer
end

local usual = not is_late and (claim_one() or claim_many())
if usual then
    return usual
end

-- -- any number of them

--@include plan.lua
local now = string.format('%.6f', now_us / 1000000)
local lease_end = string.format('%.6f', now_us / 1000000 + ARGV[2])
-- Never repeated, even when the store has lost its tail or the clock was set back.
local last = tonumber(own('HGET', KEYS[3], 'exec') or '') or 0
local exec = math.max(last + 1, now_us)
local ZEROS = string.rep('0', 16)

-- The outcome of a run whose lease ended without a result. Only here is it known in the step in
-- which it happens. The title is read by cjson: nothing of that is written back.
local function remember_lost(station, id, message, run)
    local log = string.match(message, '"log"%s*:%s*"(%l+)"')
    if log == 'none' then
        return
    end
    local good, plan = pcall(cjson.decode, message)
    local title = good and type(plan) == 'table' and type(plan.description) == 'string'
                  and plan.description or ''
    local key = good and type(plan) == 'table' and type(plan.key) == 'string' and plan.key or nil
    local record = cmsgpack.pack({
        title = title, key = key,
        nominal = tonumber(string.match(message, '"plan_time"%s*:%s*(%d+)') or '0'),
        status = log == 'trigger' and 1 or 134, -- OK: it was fired; TIMEOUT
        state = 2, exec_id = tonumber(run), worker = station, size = 0,
        reason = log == 'trigger' and '' or 'no result within the lease'})
    remember(last_seq(), false, station, id, milliseconds(time), record, ARGV[4])
    history_trim(ARGV[4], last_seq())
end

-- A member is taken only in the one form every other script knows it by: its station, and where its id
-- begins. Most are of the station of the one before.
local prefix, prefix_station, largest = '?', '', ''
local function member_parse(member)
    if string.find(member, prefix, 1, true) ~= 1 then
        local station = string.match(member, '^plan:msg:([%w_.-]+):')
        if not station or #station > 64 then
            return
        end
        prefix, prefix_station = 'plan:msg:' .. station .. ':', station
        largest = prefix .. '7fffffffffffffff'
    end
    local first, size = #prefix + 1, #member
    if string.find(member, '^[1-9a-f][0-9a-f]*$', first)
       and (size < #largest or size == #largest and member <= largest) then
        return prefix_station, first
    end
end

-- A run besides the schedule, and a vote whose time is over, are not sent again, and of a plan that says what
-- is to be done about failures the station decides: it tells what became of them.
local function station_tells(message, lost)
    local deadline = string.match(message, '"vote"%s*:%s*{[^}]*"deadline"%s*:%s*(%d+)')
    return string.find(message, '"extra"%s*:%s*[1-9]')
           or string.find(message, '"retry"%s*:%s*{') or string.find(message, '"timeout"%s*:%s*[1-9]')
           or deadline and lost + deadline * 1000000 <= now_us
end

-- The message of a plan that is being run says so. Of many at once that is left to the first answer:
-- plan:run tells it, and what reads messages looks there (plan.lua, as_running).
local function write_running(member, message, text, second)
    local head, size = running_head(message, text, second)
    if size then
        redis.call('SETRANGE', member, 0, head)
    else
        redis.call('SET', member, head)
    end
end

local broken, rows, bytes = {}, {}, 0

-- `due_us`: of one that is not due yet. `message` false: it is left to the caller.
local function give(member, text, again, lost, message, due_us)
    local n = #rows
    rows[n + 1] = member
    rows[n + 2] = again == 0 and due_us == 0 and tonumber(text)
                  or (again == 0 and text or text .. ' ' .. again .. ' ' .. lost)
                     .. (due_us > 0 and '@' .. string.format('%d', due_us) or '')
    if message then
        rows[n + 3] = message
        bytes = bytes + #message
    end
end

-- The plans of this claim when it was asked before: those whose run is still one of those it gave.
local readable, asked = pcall(cmsgpack.unpack, own('GET', KEYS[5]) or '')
local asked_before = readable and type(asked) == 'table' and asked[1] == ARGV[3]
                     and tonumber(asked[2]) and tonumber(asked[3]) and type(asked[4]) == 'table'
local with_messages = true

local function given_before()
    local all, before = own('HGETALL', KEYS[2]), {}
    for i = 1, #all, 2 do
        local run = tonumber(string.match(all[i + 1], '^%d+') or '')
        if run and run >= asked[2] and run <= asked[3] and member_parse(all[i]) then
            before[#before + 1] = {all[i], all[i + 1], run}
        end
    end
    table.sort(before, function(one, other) return one[3] < other[3] end)
    return before
end

local function give_again()
    local before, queue = given_before(), {}
    with_messages = #before <= FEW
    for _, row in ipairs(before) do
        local member, held, text = row[1], row[2], string.match(row[2], '^%d+')
        local message = redis.pcall('GET', member)
        if type(message) == 'string' then
            local lost = asked[4][text] or ''
            queue[#queue + 1], queue[#queue + 2] = lease_end, member
            give(member, text, lost ~= '' and 2 or string.find(held, '+', 1, true) and 1 or 0, lost,
                 with_messages and message, row[3] > now_us and row[3] <= now_us + ARGV[6] and row[3] or 0)
        end
    end
    if #queue > 0 then
        redis.call('ZADD', KEYS[1], unpack(queue))
    end
end

if asked_before then
    give_again()
end

-- -- which plans

local LOOK_MAX = 512 -- at due plans, besides those that are taken
local most = (asked_before or is_late) and 0 or tonumber(ARGV[1])
local room, puts_aside, targets_aside, probes = {}, {}, {}, {}
local members, stations, ids_at, chosen = {}, {}, {}, {}
local put_aside, aside_keys, aside, some_aside = {}, {}, {}, false

local told_aside = {}
local function tell_aside(station)
    if not told_aside[station] then
        told_aside[station] = true
        targets_aside[#targets_aside + 1] = station
    end
end

local LEASE_S = ARGV[7]
--@include limit_use.lua
--@include lanes.lua

-- Take a due plan, or put it aside. False: its target takes no more now.
local function choose(member)
    local station, id_at = member_parse(member)
    if not station then
        broken[#broken + 1] = member
        return true
    end
    if some_aside and chosen[member] then
        return true -- it was aside, and is due as well: its lease has ended
    end
    local left, is_probe = room[station], probes[member]
    if is_probe and laned[station] then
        charged[#members + 1] = charge_out_of_turn(member, station)
    end
    if laned[station] and not is_probe then
        into_lanes[#into_lanes + 1] = member
    elseif left and left <= 0 and not is_probe then
        if not puts_aside[station] then
            return false
        end
        local key = 'plan:held:' .. station
        tell_aside(station)
        aside[key] = aside[key] or {}
        put_aside[#put_aside + 1], aside_keys[#aside_keys + 1] = member, key
    else
        chosen[member] = true
        room[station] = left and left - 1
        local i = #members + 1
        members[i], stations[i], ids_at[i] = member, station, id_at
    end
    return true
end

-- Look at due plans in their order, until `limit` are taken. Targets that take no more are passed over;
-- gives them, and, when the look has ended before the plans did, the place where it did.
local function look_at_older(from, to, limit)
    local offset, passed, older = 0, 0, {}
    while #members < limit and offset < LOOK_MAX + limit and #into_lanes < LANES_MAX do
        local chunk = math.min(limit - #members + passed, LOOK_MAX)
        local page = redis.call('ZRANGEBYSCORE', KEYS[1], from, to, 'LIMIT', offset, chunk)
        look_at_classes(page)
        for i, member in ipairs(page) do
            if not choose(member) then
                older[member_parse(member)] = true
                passed = passed + 1
            end
            if passed == PASS_MAX or #members >= limit then
                return older, offset + i
            end
        end
        if #page < chunk then
            return older
        end
        offset = offset + chunk
    end
    return older, offset
end

-- The same with those that became due since; who has older ones is passed over.
local function look_at_newer(since, limit, older, offset)
    local page = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. since, now, 'LIMIT', 0, LOOK_MAX)
    local unseen = offset and #page > 0
                   and redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', since, 'LIMIT', offset, LOOK_MAX)
    for _, member in ipairs(unseen or {}) do
        older[member_parse(member) or ''] = true
    end
    look_at_classes(page)
    for _, member in ipairs(page) do
        if #members >= limit or #into_lanes >= 2 * LANES_MAX then
            return
        end
        local station = member_parse(member)
        if not older[station or ''] and not choose(member) then
            older[station] = true
        end
    end
end

-- Those that are due within moments, of targets that take more.
local function look_ahead(limit)
    local reach = string.format('%.6f', (now_us + ARGV[6]) / 1000000)
    if reach == now or #members >= limit then
        return
    end
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, reach, 'LIMIT', 0, limit - #members)) do
        local station = member_parse(member)
        if station and (room[station] or 1) > 0 then
            choose(member)
        end
    end
end

-- Those that were put aside for a target and are so still.
local function take_aside(station, limit)
    local held = own('ZPOPMIN', 'plan:held:' .. station, limit)
    for i = 1, #held, 2 do
        if redis.call('ZSCORE', KEYS[1], held[i]) == held[i + 1] then
            some_aside = true
            choose(held[i])
        end
    end
    if #held == 2 * limit then
        tell_aside(station)
    end
end

for at = 9, #ARGV, 5 do
    room[ARGV[at]] = tonumber(ARGV[at + 1])
end
local has_lanes = prepare_lanes()
for at = 9, #ARGV, 5 do
    local station = ARGV[at]
    puts_aside[station] = string.find(ARGV[at + 2], '^held') ~= nil
    probes[string.sub(ARGV[at + 2], 6)] = true
    local limit = math.min(room[station], most - #members)
    if ARGV[at + 3] == '1' and limit > 0 and laned[station] then
        aside_into_lanes(station)
    elseif ARGV[at + 3] == '1' and limit > 0 then
        take_aside(station, limit)
    elseif ARGV[at + 3] == '1' or asked_before and redis.call('EXISTS', 'plan:held:' .. station) == 1 then
        tell_aside(station)
    end
end
local from_aside = #members
-- Where there are lanes they get a part of the claim.
local look_most = next(laned) and math.max(from_aside, math.ceil(most / 2)) or most
-- The clock may have been set back since the claim before: what it has looked at may not be due now.
local since = ARGV[5] ~= '' and tonumber(ARGV[5]) < tonumber(now)
              and redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[5], now) > 0 and ARGV[5]
if most > 0 and not since then
    look_at_older('-inf', now, look_most)
elseif most > 0 then
    local older, offset = look_at_older('-inf', since, math.max(from_aside, math.ceil(look_most * 3 / 4)))
    look_at_newer(since, look_most, older, offset)
end
local from_due = #members
-- What is limited is taken when its time has come, and so is all while numbers are of a clock that was set back.
if not has_lanes and exec <= now_us + ARGV[6] then
    look_ahead(most)
end
local from_queue = #members
if has_lanes and most > 0 then
    put_into_lanes()
    serve_all()
end
if #broken > 0 then -- not earlier: the pages are by place
    redis.call('ZREM', KEYS[1], unpack(broken))
end
if #put_aside > 0 then
    -- In their order, a microsecond apart. No run of theirs gets such a score: they are claimed from plan:held,
    -- which removes them, or later.
    local aside_queue = {}
    for i, member in ipairs(put_aside) do
        local us = now_us - (#put_aside - i)
        local score = string.format('%.6f', us / 1000000 + LEASE_S)
        aside_queue[#aside_queue + 1], aside_queue[#aside_queue + 2] = score, member
        collect(aside, aside_keys[i], score)
        collect(aside, aside_keys[i], member)
    end
    redis.call('ZADD', KEYS[1], unpack(aside_queue))
    each_list('ZADD', aside)
    for key in pairs(aside) do
        redis.call('EXPIRE', key, math.ceil(LEASE_S) + 3600)
    end
end

-- -- their runs

local queue, runs, index, waits, back, losses = {}, {}, {}, {}, {}, {}
local dead, dead_stations = {}, {}
local few, first_exec = #members <= FEW, nil

-- Whether some wait for a target, which those that are taken now do no more.
local some_wait = {}
local function waits_for(station)
    if some_wait[station] == nil then
        some_wait[station] = redis.call('EXISTS', 'plan:wait:' .. station) == 1
    end
    return some_wait[station]
end

-- Of what the station writes (plan.lua, has_head), told by one look.
local STATION_HEAD = '^{"exec_id":' .. string.rep('.', 16) .. ',"exec_time":'

-- What the run in hand until now means for the new one: whether an earlier one may still answer, and the one
-- that had no result within its lease. "?" behind it: its target gave no sign of life and was given up; nothing
-- of it is expected. "+": an earlier one ran out of its lease, and its answer may still come.
local function read_held(held)
    local given_up = string.find(held, '?', 1, true)
    local again = string.find(held, '+', 1, true) or not given_up
    return again and true, again and not given_up and string.match(held, '^%d+') or nil
end

local function end_lost(i, message, lost)
    losses[string.format('%d', exec)] = lost
    if not station_tells(message, lost) then
        remember_lost(stations[i], string.sub(members[i], ids_at[i]), message, lost)
    end
end

-- One of many: its message is looked at only when there is something to find in it.
local function take(i, held, message, due_us)
    local member, station = members[i], stations[i]
    exec = math.max(exec, due_us)
    first_exec = first_exec or exec
    local text, again, lost = string.format('%d', exec), false, nil
    if held then
        again, lost = read_held(held)
        if lost then
            end_lost(i, message or redis.call('GET', member), lost)
        end
    end
    if charged[i] then
        charge(charged[i], member, text)
    end
    exec = exec + 1
    local n = #runs
    runs[n + 1] = member
    runs[n + 2] = text .. (again and '+ ' or ' ') .. (few and revision(message) or AS_GIVEN)
    queue[n + 1], queue[n + 2] = lease_end, member
    if few then
        write_running(member, message, text, due_us > 0 and string.sub(text, 1, 10) or time[1])
    end
    if LISTED < QUEUED or few and not string.find(message, STATION_HEAD) then
        local id = string.sub(member, ids_at[i])
        index[#index + 1] = '1'
        index[#index + 1] = string.sub(ZEROS, #id + 1) .. id .. ':' .. station
    end
    if waits_for(station) then
        collect(waits, 'plan:wait:' .. station, member)
    end
    give(member, text, lost and 2 or again and 1 or 0, lost or '', message, due_us)
end

-- A message made by hand, which has no head as the station writes it, is in the index from now on; so
-- is every one as long as some are missing there. What is new there stands out by its score.
local function index_add()
    if #index == 0 or redis.call('ZADD', KEYS[4], 'NX', unpack(index)) == 0 then
        return
    end
    local changes = {}
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], 1, 1)) do
        local station, id = entry_parse(entry)
        local message = id and redis.pcall('GET', message_key(station, id))
        redis.call('ZADD', KEYS[4], 0, entry)
        if type(message) == 'string' then
            add_up(changes, 's:' .. station, 1)
            add_up(changes, caller_of(message), 1)
        end
    end
    count(changes)
end

-- Of the message; nil: there is none.
local function size_of(member)
    local size = redis.pcall('STRLEN', member)
    if type(size) == 'number' and (size > 0 or redis.call('EXISTS', member) == 1) then
        return size
    end
end

-- Take it when its message is there and fits into the bytes.
local function take_if_there(i, held, message, due_us)
    local member, size = members[i], message and #message
    if not few then
        size = size_of(member)
    end
    if not size then
        broken[#broken + 1] = member
        dead[#dead + 1] = member
        dead_stations[#dead] = stations[i]
    elseif bytes <= BYTES_MAX then
        bytes = few and bytes or bytes + size
        take(i, held, message, due_us)
    elseif i <= from_aside or i > from_queue then
        back[#back + 1] = now
        back[#back + 1] = member
    end
end

local function take_all()
    local held, found = own('HMGET', KEYS[2], unpack(members)), few and redis.call('MGET', unpack(members))
    local scores = from_queue > from_due and redis.call('ZMSCORE', KEYS[1], unpack(members))
    with_messages = few
    for i in ipairs(members) do
        local due_us = scores and i > from_due and i <= from_queue and math.floor(scores[i] * 1000000 + 0.5) or 0
        if due_us == 0 or not held[i] then -- the end of a lease is waited for
            take_if_there(i, held[i], found and found[i], due_us)
        end
    end
end

if #members > 0 then
    take_all()
end
if #dead > 0 then
    redis.call('ZREM', KEYS[1], unpack(dead))
    forget(dead, dead_stations)
end
if #back > 0 then
    redis.call('ZADD', KEYS[1], unpack(back))
end
if #runs > 0 then
    redis.call('ZADD', KEYS[1], unpack(queue))
    if not few then -- as above
        own('HSET', KEYS[2], 'long', LONG)
        redis.call('HSET', KEYS[2], unpack(runs))
        redis.call('HDEL', KEYS[2], 'long')
    else
        own('HSET', KEYS[2], unpack(runs))
    end
    index_add()
    wait_no_more(waits)
    redis.call('HSET', KEYS[3], 'exec', string.format('%d', exec - 1))
    redis.call('SET', KEYS[5], cmsgpack.pack({ARGV[3], first_exec, exec - 1, losses}), 'EX', 3600)
end
if has_lanes then
    write_limits()
end
local later = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
if wakes_us and (not later or tonumber(later) * 1000000 > wakes_us) then
    later = string.format('%.6f', wakes_us / 1000000)
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local is_more = first[2] and tonumber(first[2]) <= tonumber(now)
return {string.format('%d', now_us), later or '', broken, now,
        (is_more and 1 or 0) + (#into_lanes > 0 and 2 or 0) + (limits_wait and 4 or 0),
        targets_aside, with_messages and 0 or 1, unpack(rows)}
