#!lua flags=allow-oom
-- Take the plans that are due by Redis' clock: each gets a new exec_id, and its score becomes the end
-- of its lease, so that a station that dies leaves nothing to repair: the plan is due again then.
-- A claim has a number: asked again, as when its answer was lost, it gives the same plans and runs.
-- KEYS  1 time set  2 runs in hand  3 meta  4 index  5 the station's last claim
-- ARGV  1 most plans to take  2 lease in seconds  3 number of the claim  4 most outcomes kept
-- Answers {now in us, score of the first plan not due or '', {members without a sound message},
--          {member, message, exec_id, again, lost}, ...}
--   again: 1 an earlier run has not ended, 2 and one was in hand until now
--   lost: that one, which had no result within its lease, '' = none
-- Cost  O(log n) a plan.
--@include plan.lua
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = string.format('%.6f', now_us / 1000000)
local lease_end = string.format('%.6f', now_us / 1000000 + ARGV[2])
-- Never repeated, even when the store has lost its tail or the clock was set back.
local last = tonumber(own('HGET', KEYS[3], 'exec') or '') or 0
local exec = math.max(last + 1, now_us)
-- A reply is bounded in bytes too: what is over the bound stays due and is taken by the next call.
local BYTES_MAX = 4194304

-- The outcome of a run whose lease ended without a result. Only here is it known in the step in
-- which it happens. The title is read by cjson: nothing of that is written back.
local function remember_lost(station, id, message, run)
    local good, plan = pcall(cjson.decode, message)
    local title = good and type(plan) == 'table' and type(plan.description) == 'string'
                  and plan.description or ''
    local record = cmsgpack.pack({
        title = title,
        nominal = tonumber(string.match(message, '"plan_time"%s*:%s*(%d+)') or '0'),
        status = 134, -- TIMEOUT
        state = 2, exec_id = tonumber(run), worker = station, size = 0,
        reason = 'no result within the lease'})
    remember(last_seq(), false, station, id, time, record, ARGV[4])
end

-- A member is taken only in the one form every other script knows it by.
local function member_parse(member)
    local station, id = string.match(member, '^plan:msg:([%w_.-]+):([1-9a-f][0-9a-f]*)$')
    if id and #station <= 64 and (#id < 16 or #id == 16 and id <= '7fffffffffffffff') then
        return station, id
    end
end

local broken, claimed, bytes = {}, {}, 0

-- A run besides the schedule, and a vote whose time is over, are not sent again: the station tells what
-- became of them.
local function station_tells(message, lost)
    local deadline = string.match(message, '"vote"%s*:%s*{[^}]*"deadline"%s*:%s*(%d+)')
    return string.find(message, '"extra"%s*:%s*[1-9]')
           or deadline and lost + deadline * 1000000 <= now_us
end

local function give(member, message, text, again, lost)
    claimed[#claimed + 1] = {member, message, text, again, lost}
    bytes = bytes + #message
end

-- The plans of this claim when it was asked before: those whose run is still the one it gave.
local asked_before = own('LINDEX', KEYS[5], 0) == ARGV[3]
local before = asked_before and redis.call('LRANGE', KEYS[5], 1, -1) or {}
for i = 1, #before, 3 do
    local member, text, lost = before[i], before[i + 1], before[i + 2]
    local held, message = own('HGET', KEYS[2], member) or '', redis.pcall('GET', member)
    if string.match(held, '^%d+') == text and type(message) == 'string' then
        redis.call('ZADD', KEYS[1], lease_end, member)
        give(member, message, text, lost ~= '' and 2 or string.find(held, '+', 1, true) and 1 or 0, lost)
    end
end

local taken = {}
local due = asked_before and {}
            or redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do
    local station, id = member_parse(member)
    local message = id and redis.pcall('GET', member)
    if type(message) ~= 'string' then
        redis.call('ZREM', KEYS[1], member)
        if id then
            forget(station, id)
        end
        broken[#broken + 1] = member
    else
        local text = string.format('%.0f', exec)
        -- "?" behind the run in hand: its target gave no sign of life and was given up; nothing of it
        -- is expected. "+": an earlier one ran out of its lease, and its answer may still come.
        local held = own('HGET', KEYS[2], member)
        local again = held and (string.find(held, '+', 1, true) or not string.find(held, '?', 1, true))
                      and 1 or 0
        local lost = again == 1 and not string.find(held, '?', 1, true) and string.match(held, '^%d+')
        if lost then
            again = 2
            if not station_tells(message, lost) then
                remember_lost(station, id, message, lost)
            end
        end
        own('HSET', KEYS[2], member, again > 0 and text .. '+' or text)
        redis.call('ZADD', KEYS[1], lease_end, member)
        message = set(message, 'exec_id', text)
        message = set(message, 'exec_time', time[1])
        message = set(message, 'plan_state', 2)
        message = set(message, 'revision', text)
        redis.call('SET', member, message)
        index_add(string.rep('0', 16 - #id) .. id .. ':' .. station, station, message)
        own('SREM', 'plan:wait:' .. station, member)
        give(member, message, text, again, lost or '')
        taken[#taken + 1] = member
        taken[#taken + 1] = text
        taken[#taken + 1] = lost or ''
        exec = exec + 1
        if bytes > BYTES_MAX then
            break
        end
    end
end
if #taken > 0 then
    redis.call('HSET', KEYS[3], 'exec', string.format('%.0f', exec - 1))
    redis.call('DEL', KEYS[5])
    redis.call('RPUSH', KEYS[5], ARGV[3], unpack(taken))
    redis.call('EXPIRE', KEYS[5], 3600)
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {string.format('%.0f', now_us), first[2] or '', broken, unpack(claimed)}
