#!lua flags=allow-oom
-- Write what became of runs: of each the plan, its result, its place in the queue and the history, all in
-- one step. Each applies only while the run is the plan's current one, and to the message it was decided
-- on. A plan stands in a call once.
-- KEYS  1 time set  2 runs in hand  3 index  4 meta  5 failures told  6 the station's last calls
-- ARGV  1 number of the call  2 most records kept in the history
--       then of each run  +1 message key  +2 station, a space, and the caller as a field of the count
--       +3 exec_id  +4 lease, retry, doubt, next, park or end; retry+ = the run may still answer
--       +5 seconds from now (lease, retry, doubt) or the score (next); '' = out of the queue
--       +6 message JSON, '' leaves it  +7 the revision it was decided on, '' = any
--       +8 broadcast: none, result or failure  +9 1 = due at once when the target connects
--       +10 record for the history, '' none  +11 another one, of occurrences that this drops, '' none
--       +12 what the run wrote, for plan:output (output.h), '' none
--       +13 votes: o = they replace the work, c = all of it is answered; p = a new plan is placed with this
--       +14 how many texts follow  +15, +16, ... participant, its result, ...; of a new plan: message key, message
--       JSON, score, index entry, class (plan:class, '' none), most plans in all, of a station, of a caller (0 = no
--       bound), record for the history when there are too many, '' none
-- Answers {now in us, epoch of the broadcasts or '', of each run: its seq, 0 = no broadcast; -1 the run is
--         not the current one; {message} it is not the message that was decided on; {seq, {participant,
--         result, ...}} of a vote that was closed; {seq, votes, bound} its new plan is not placed for this}.
-- Asked again, as when its answer was lost, a call answers the same.
-- Cost  O(log n) a run.
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local now_us = time[1] .. string.format('%06d', time[2])

-- -- one run, as usual

-- A sign of life, or the result of a plan that has a next time, without a function of those below: to make
-- them takes longer than what one run does. Whatever is unusual is left to them, and so is each 64th result,
-- that the history is trimmed. What was written by then they write again.
local function commit_one()
    local member, belongs, exec_id, mode, when, json, decided_on, kind, waiting, record, missed, output, votes, size =
        unpack(ARGV, 3, 16)
    local lives = mode == 'lease' and kind == 'none' and record == '' and size == '0'
    local done = mode == 'next' and kind == 'result' and record ~= '' and json ~= '' and ARGV[2] ~= '0'
    local number = json == '' and decided_on or string.match(json, '^,"revision":(%d+)', 66)
    if #ARGV ~= 16 + size or not (lives or done) or waiting == '1' or missed ~= '' or votes ~= '' or when == ''
       or not number then
        return
    end
    local slot, station = ARGV[1] % 512, string.match(belongs, '^[^ ]*') -- plan.lua, CALLS_RING
    local sent = redis.pcall('HGET', KEYS[6], slot)
    -- What was answered begins with the number of its call, behind two bytes. The message counts twice.
    if type(sent) == 'table' or sent and string.sub(sent, 3, 2 + #ARGV[1]) == ARGV[1]
       or redis.call('TTL', KEYS[6]) < 1800 or type(redis.pcall('ZCARD', KEYS[3])) == 'table'
       or redis.pcall('HGET', KEYS[2], member) ~= exec_id .. ' ' .. decided_on
       or redis.call('EXISTS', member, member, 'plan:wait:' .. station) ~= 2 then
        return
    end
    local seq, epoch = 0, ''
    if done then
        local meta = redis.pcall('HMGET', KEYS[4], 'seq', 'epoch')
        seq, epoch = (tonumber(meta[1] or '') or 0) + 1, meta[2]
        if seq < 2 or not epoch or seq % 64 == 0 then
            return
        end
    end
    local score = done and when or string.format('%.6f', now + when)
    if type(redis.pcall('ZADD', KEYS[1], score, member)) == 'table' then
        return
    end
    if done then
        local id, text = string.sub(member, 11 + #station), string.format('%d', seq)
        local work = 'plan:work:' .. station .. ':' .. id
        if size ~= '0' and type(redis.pcall('HSET', work, unpack(ARGV, 17))) == 'table'
           or type(redis.pcall('XADD', 'plan:history', text .. '-0', 'p', id, 's', station,
                               't', string.sub(now_us, 1, -4), 'r', record)) == 'table' then
            return
        end
        if output ~= '' then
            redis.pcall('XADD', 'plan:output', text .. '-0', 't', string.sub(now_us, 1, -4), 'o', output)
        end
        redis.call('HSET', KEYS[4], 'seq', text)
        redis.call('HDEL', KEYS[2], member)
    elseif json ~= '' then
        redis.call('HSET', KEYS[2], member, exec_id .. ' ' .. number)
    end
    if json ~= '' then
        redis.call('SET', member, json)
    end
    redis.call('HSET', KEYS[6], slot, cmsgpack.pack({ARGV[1], {epoch, seq}}))
    return {now_us, epoch, seq}
end

local one = #ARGV >= 16 and commit_one()
if one then
    return one
end

-- -- any number of them

--@include plan.lua
local now_ms = milliseconds(time)

local kept = call_kept(KEYS[6], ARGV[1])
if kept then
    return {now_us, unpack(kept)}
end

local FIELDS, ZEROS = 14, string.rep('0', 16)
local members, stations, callers, ids, places = {}, {}, {}, {}, {}
local at = 3
while at <= #ARGV do
    local i = #members + 1
    members[i], places[i] = ARGV[at], at
    stations[i], callers[i] = belongs_to(ARGV[at + 1])
    ids[i] = string.sub(members[i], 11 + #stations[i])
    at = at + FIELDS + ARGV[at + 13]
end

-- What is written, collected: one command for all the plans where there is one for many.
local sets, queue, unqueued, held_set, held_gone = {}, {}, {}, {}, {}
local waits, waits_no_more, told = {}, {}, {}
local ended, ended_stations, ended_callers, ended_entries = {}, {}, {}, {}
local lost, lost_stations = {}, {}

local function add(list, value, second)
    list[#list + 1] = value
    list[#list + 1] = second
end

-- -- broadcasts

local seq, epoch -- of the last broadcast; epoch: only when there is one in this call
local function next_seq()
    seq = (seq or last_seq()) + 1
    epoch = epoch or epoch_of(seq, time)
    return seq
end

-- Whether a failure of this plan was told within the last minute, before anything is forgotten.
local function is_broadcast(member, kind)
    if kind ~= 'failure' then
        return kind == 'result'
    end
    local last = tonumber(own('HGET', KEYS[5], member) or '') or 0
    if math.abs(now - last) < 60 then
        return false
    end
    add(told, member, string.format('%.3f', now))
    return true
end

-- -- one run

-- The participants' results. Gives all of them when the vote is closed.
local function write_work(i, mode, votes, size)
    local work = 'plan:work:' .. stations[i] .. ':' .. ids[i]
    local closes = string.find(votes, 'c', 1, true)
    if string.find(votes, 'o', 1, true) then
        redis.call('DEL', work)
    end
    if size > 0 and (mode ~= 'end' or closes) then
        local first = places[i] + FIELDS
        own('HSET', work, unpack(ARGV, first, first + size - 1))
    end
    return closes and own('HGETALL', work)
end

-- A plan that this outcome calls. Its id is made of the run: what stands under it is this plan. Gives the bound
-- for which it is not placed.
local PLACED = 9
local function place_new(i, first)
    local key, message, score, entry, class, most, most_station, most_caller, record = unpack(ARGV, first, first + 8)
    local station, caller = string.sub(entry, 18), caller_of(message)
    local function reached(bound, kept)
        return bound ~= '0' and (tonumber(kept or '') or 0) >= tonumber(bound)
    end
    if #entries(string.sub(entry, 1, 16)) > 0 or redis.call('EXISTS', key) == 1 then
        return
    end
    local full = reached(most, redis.call('ZCARD', KEYS[3])) and 'max_plans'
                 or reached(most_station, own('HGET', COUNT, 's:' .. station)) and 'max_plans_station'
                 or reached(most_caller, own('HGET', COUNT, caller)) and 'max_plans_caller'
    if full then
        if record ~= '' then
            seq = seq or last_seq()
            remember(seq, false, stations[i], ids[i], now_ms, record, ARGV[2])
        end
        return full
    end
    forget({key}, {station})
    redis.call('SET', key, message)
    redis.call('ZADD', KEYS[1], score, key)
    redis.call('ZADD', KEYS[3], 0, entry)
    if class ~= '' then
        own('HSET', 'plan:class', key, class)
    end
    count({['s:' .. station] = 1, [caller] = 1})
end

local function place(i, held, mode, when, waiting, json)
    local member = members[i]
    if mode == 'park' or when == '' then
        unqueued[#unqueued + 1] = member
    else
        add(queue, mode == 'next' and when or string.format('%.6f', now + when), member)
    end
    if waiting == '1' then
        collect(waits, 'plan:wait:' .. stations[i], now_us)
        collect(waits, 'plan:wait:' .. stations[i], member)
    else
        collect(waits_no_more, 'plan:wait:' .. stations[i], member)
    end
    if mode == 'doubt' or mode == 'lease' then
        local run = string.match(held, '^%d+%+?')
        local number = json ~= '' and revision(json) or string.match(held, ' (%d+)$')
        add(held_set, member, held_of(mode == 'doubt' and run .. '?' or run, number))
    elseif mode == 'retry+' or mode == 'retry' and string.find(held, '+', 1, true) then
        -- No run is in hand, but one that ran out of its lease, or of its time, may still answer.
        add(held_set, member, '+')
    else
        held_gone[#held_gone + 1] = member
    end
end

local function write(i, held)
    local exec_id, mode, when, json, decided_on, kind, waiting, record, missed, output, votes, size =
        unpack(ARGV, places[i] + 2, places[i] + 13)
    local member = members[i]
    if not held or string.match(held, '^%d+') ~= exec_id then
        return -1
    end
    local known = string.match(held, ' (%d+)$')
    if not known or decided_on ~= '' and known ~= decided_on then
        -- A claim of many did not look at it, or the message was written by hand.
        local message = redis.pcall('GET', member)
        if type(message) ~= 'string' then
            return -1
        elseif decided_on ~= '' and revision(message) ~= decided_on then
            return {as_running(message, held)}
        end
        held = held_of(held, revision(message))
    end
    local tells = is_broadcast(member, kind)
    local number = tells and next_seq() or 0
    if record ~= '' then
        seq = seq or last_seq()
        local entry = remember(seq, tells, stations[i], ids[i], now_ms, record, ARGV[2])
        if output ~= '' and entry then
            redis.pcall('XADD', 'plan:output', entry, 't', now_ms, 'o', output)
        end
    end
    if missed ~= '' then
        seq = seq or last_seq()
        remember(seq, false, stations[i], ids[i], now_ms, missed, ARGV[2])
    end
    local places_plan = string.find(votes, 'p', 1, true)
    size = places_plan and size - PLACED or tonumber(size)
    local all_votes = (votes ~= '' or size > 0) and write_work(i, mode, votes, size)
    local full = places_plan and place_new(i, places[i] + FIELDS + size)
    if mode == 'end' then
        local n = #ended + 1
        ended[n], ended_stations[n], ended_callers[n] = member, stations[i], callers[i]
        ended_entries[n] = string.sub(ZEROS, #ids[i] + 1) .. ids[i] .. ':' .. stations[i]
    else
        if json ~= '' then
            add(sets, member, json)
        end
        place(i, held, mode, when, waiting, json)
    end
    if full then
        return {number, all_votes or {}, full}
    end
    return all_votes and {number, all_votes} or number
end

-- -- all of them

local function each(command, key, list)
    if #list > 0 then
        own(command, key, unpack(list))
    end
end

-- Of a plan whose message was deleted by hand nothing is kept.
local function find_lost()
    if #members == 0 or redis.call('EXISTS', unpack(members)) == #members then
        return {}
    end
    local gone = {}
    for i, member in ipairs(members) do
        gone[i] = redis.call('EXISTS', member) == 0
    end
    return gone
end

local answers, gone = {''}, find_lost()
for i, held in ipairs(own('HMGET', KEYS[2], unpack(members))) do
    if gone[i] then
        answers[i + 1] = -1
        if held and string.match(held, '^%d+') == ARGV[places[i] + 2] then
            lost[#lost + 1] = members[i]
            lost_stations[#lost] = stations[i]
        end
    else
        answers[i + 1] = write(i, held)
    end
end
if epoch then
    answers[1] = epoch
    redis.call('HSET', KEYS[4], 'seq', string.format('%d', seq), 'epoch', epoch)
end
if seq then
    history_trim(ARGV[2], seq)
end

if #sets > 0 then
    redis.call('MSET', unpack(sets))
end
if #ended > 0 then
    redis.call('DEL', unpack(ended))
    each('ZREM', KEYS[1], ended)
    index_remove(ended_entries, ended_stations, ended_callers)
    forget(ended, ended_stations)
end
if #lost > 0 then
    each('ZREM', KEYS[1], lost)
    forget(lost, lost_stations)
end
each('ZREM', KEYS[1], unqueued)
each('ZADD', KEYS[1], queue)
each('HSET', KEYS[2], held_set)
each('HDEL', KEYS[2], held_gone)
each('HSET', KEYS[5], told)
each_list('ZADD', waits)
wait_no_more(waits_no_more)
keep_call(KEYS[6], ARGV[1], answers)
return {now_us, unpack(answers)}
