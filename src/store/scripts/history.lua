#!lua flags=allow-oom
-- Outcomes of runs, oldest first or newest first.
-- KEYS  1 history  2 meta  3 outputs
-- ARGV  1 entry to go on behind, '' = from the end  2 most outcomes  3 1 = newest first
--       4 plan id, '' = any  5 target, '' = any  6 1 = with what the runs wrote  7 run of a flow, '' = any
--       8 statuses, a character each: '1' = wanted; '' = any  9 the first ms, '' = any  10 the ms behind the last, '' = any
-- Answers {seq, epoch, first entry kept or '', last entry looked at or '' at the end, the highest number of
--          those that were taken out by forget or '', {entry, plan, target, ended in ms, record, output or ''}, ...}
-- Cost  O(log n + outcomes looked at).
--@include outcomes.lua
-- An entry may hold some hundred outcomes.
local LOOK_MAX, CHUNK, REMOVED_MAX = 5000, 20, 100
local most, newest = tonumber(ARGV[2]), ARGV[3] == '1'
local plan, target, with_output = ARGV[4], ARGV[5], ARGV[6] == '1'
local flow_run = tonumber(ARGV[7]) -- microseconds of a claim: a double has them exactly
local statuses, from_ms, to_ms = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local last, looked, found = ARGV[1], 0, 0

-- Whether an outcome of an entry of several comes after this place, in the order that was asked for.
local function is_behind(name, after)
    local seq = tonumber(string.match(name, '^%d+'))
    local after_seq, after_sub = string.match(after, '^(%d+)-(%d+)$')
    if after == '' then
        return true
    elseif newest then
        return seq < tonumber(after_seq) or seq == tonumber(after_seq) and after_sub ~= '0'
    end
    return seq > tonumber(after_seq)
end

-- The next entries behind the last outcome looked at. When that was, or may have been, in the middle of an entry,
-- it is the first of them.
local function entries_behind()
    if not newest then
        return read('XRANGE', KEYS[1], last == '' and '-' or '(' .. last, '+', 'COUNT', CHUNK) or {}
    end
    local page = read('XREVRANGE', KEYS[1], last == '' and '+' or '(' .. last, '-', 'COUNT', CHUNK) or {}
    local within = last ~= '' and (read('XRANGE', KEYS[1], last, '+', 'COUNT', 1) or {})[1]
    if within and span_of(within) < select(2, span_of(within)) then
        page.ends, page.within = #page < CHUNK, within
        table.insert(page, 1, within)
    end
    return page
end

-- What the run of an outcome wrote, or what a later one of its plan did (the caller knows its exec_id): the first
-- entry of the outputs that is not before it may hold it. There is one of this plan in an entry, and one entry for
-- all outcomes of an entry of the history, which is read once.
local outputs = {}
local function output_of(entry, outcome)
    if outputs.of ~= entry then
        local first = (read('XRANGE', KEYS[3], outcome[1], '+', 'COUNT', 1) or {})[1]
        outputs = {of = entry, fields = first and first[2] or {}}
    end
    local fields, run = outputs.fields, outcome[3] .. ':' .. outcome[2] .. ' '
    for i = 3, #fields, 2 do
        if string.sub(fields[i + 1], 1, #run) == run then
            return fields[i + 1]
        end
    end
    return ''
end

local first = (read('XRANGE', KEYS[1], '-', '+', 'COUNT', 1) or {})[1]
local meta = read('HMGET', KEYS[2], 'seq', 'epoch', 'forgot') or {}
local newest_kept = not meta[1] and (read('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1) or {})[1]
local answer = {meta[1] or newest_kept and string.match(newest_kept[1], '^%d+') or '0', meta[2] or '',
                first and (outcomes_of(first)[1] or first)[1] or '', '', meta[3] or ''}

-- The first broadcast from this number on, and its number; nil if there is none, or if too many of them are removed.
local function broadcast_from(seq)
    for _ = 1, REMOVED_MAX do
        local entry = (read('XRANGE', KEYS[1], number(seq) .. '-0', '+', 'COUNT', 1) or {})[1]
        local found = entry and tonumber(string.match(entry[1], '^%d+'))
        if not entry or string.find(entry[1], '-0$') then
            return entry, found
        end
        seq = found + 1
    end
end

local function is_before(entry)
    return (tonumber(field_of(entry[2], 't')) or 0) < from_ms
end

-- Begin behind the last broadcast that is too early. Broadcasts are in the order of their times; the outcomes between
-- them are not later than the next broadcast, and restored ones are earlier than their place.
local function skip_earlier()
    local latest = read('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
    local first = tonumber(string.match(answer[3], '^%d+'))
    local low, high = first, tonumber(string.match(latest[1], '^%d+')) + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        local entry, seq = broadcast_from(middle)
        if entry and is_before(entry) then
            low = seq + 1
        else
            high = middle
        end
    end
    last = low > first and number(low - 1) .. '-0' or last
end

local function fields_fit(record)
    if flow_run and not string.find(record, 'flow_run', 1, true) then
        return false
    elseif not flow_run and statuses == '' then
        return true
    end
    local sound, fields = pcall(cmsgpack.unpack, record)
    if not sound or type(fields) ~= 'table' or flow_run and fields.flow_run ~= flow_run then
        return false
    end
    local at = (tonumber(fields.status) or 0) + 1
    return statuses == '' or string.sub(statuses, at, at) == '1'
end

local function is_within(outcome)
    local ended = tonumber(outcome[4]) or 0
    return ended >= (from_ms or ended) and ended < (to_ms or ended + 1)
end

-- Whether those before it, the newest first, are all too early.
local function is_too_early(entry)
    return newest and from_ms and string.find(entry[1], '-0$') and is_before(entry)
end

-- Look at one outcome of this entry. False: the page ends with it.
local function look(entry, outcome)
    last, looked = outcome[1], looked + 1
    if (plan == '' or outcome[2] == plan) and (target == '' or outcome[3] == target) and is_within(outcome) and
        fields_fit(outcome[5]) then
        found = found + 1
        outcome[6] = with_output and output_of(entry, outcome) or ''
        answer[#answer + 1] = outcome
    end
    return found < most and looked < LOOK_MAX
end

local function look_at(entry)
    local after, outcomes, several = last, outcomes_of(entry)
    for i = 1, #outcomes do
        local outcome = outcomes[newest and #outcomes + 1 - i or i]
        if (not several or is_behind(outcome[1], after)) and not look(entry[1], outcome) then
            return false
        end
    end
    return true
end

if from_ms and not newest and last == '' and answer[3] ~= '' then
    skip_earlier()
end
while true do
    local page = entries_behind()
    for _, entry in ipairs(page) do
        local before = looked
        if is_too_early(entry) then
            return answer
        elseif not look_at(entry) then
            answer[4] = last
            return answer
        elseif not newest or looked == before and entry ~= page.within then
            last = entry[1] -- also where nobody can read it, or all that is left of it was in a page before
        end
    end
    if page.ends or #page < CHUNK then
        return answer
    end
end
