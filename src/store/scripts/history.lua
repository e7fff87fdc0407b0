#!lua flags=allow-oom
-- Outcomes of runs, oldest first or newest first.
-- KEYS  1 history  2 meta  3 outputs
-- ARGV  1 entry to continue after, '' = from the oldest or newest  2 maximum of outcomes  3 1 = newest first
--       4 plan id, '' = any  5 target, '' = any  6 1 = with the output of the runs  7 flow run, '' = any
--       8 statuses, the character at each status: '1' = wanted; '' = any
--       9 ended at or after this time in ms, '' = any  10 ended before this time in ms, '' = any
-- Answers {seq, epoch, first entry kept or '', last entry examined or '' at the end, the highest number
--          that forget.lua removed or '', {entry, plan, target, ended in ms, record, output or ''}, ...}
-- Cost  O(log n + outcomes examined).
--@include outcomes.lua
-- Bounds: outcomes examined in a call, entries read at once (each may have hundreds of outcomes), entries skipped.
local EXAMINED_MAX, CHUNK, REMOVED_MAX = 5000, 20, 100
local most, newest = tonumber(ARGV[2]), ARGV[3] == '1'
local plan, target, with_output = ARGV[4], ARGV[5], ARGV[6] == '1'
local flow_run = tonumber(ARGV[7]) -- the microsecond of a claim, which a double represents exactly
local statuses, from_ms, to_ms = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local last, examined, found = ARGV[1], 0, 0

-- Whether an outcome of a packed entry comes after this place, in the requested order.
local function is_after_place(name, after)
    local seq = tonumber(string.match(name, '^%d+'))
    local after_seq, after_sub = string.match(after, '^(%d+)-(%d+)$')
    if after == '' then
        return true
    elseif newest then
        return seq < tonumber(after_seq) or seq == tonumber(after_seq) and after_sub ~= '0'
    end
    return seq > tonumber(after_seq)
end

-- The entries after the last outcome examined. If that is, or may be, in the middle of a packed entry, this entry
-- comes first again.
local function next_entries()
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

-- The output of an outcome's run, or of a later run of its plan (the caller compares the exec_id). It is in the first
-- entry of the outputs that is not before the outcome. An entry of the outputs serves all outcomes of an entry of the
-- history, with one output per plan, so it is read once.
local outputs = {}
local function find_output(entry, outcome)
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

-- The first entry of a broadcast from this number on, and its number; nil if there is none, or if it follows more than
-- REMOVED_MAX entries of outcomes that were not broadcast.
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

local function is_before_period(entry)
    return (tonumber(field_of(entry[2], 't')) or 0) < from_ms
end

-- Begin after the last broadcast that is before from_ms, found by a binary search. Broadcasts are in the order of
-- their times; other outcomes between them are not later than the next broadcast, and restored ones may be earlier.
local function skip_earlier()
    local latest = read('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
    local first = tonumber(string.match(answer[3], '^%d+'))
    local low, high = first, tonumber(string.match(latest[1], '^%d+')) + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        local entry, seq = broadcast_from(middle)
        if entry and is_before_period(entry) then
            low = seq + 1
        else
            high = middle
        end
    end
    last = low > first and number(low - 1) .. '-0' or last
end

local function matches_record(record)
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

local function is_in_period(outcome)
    local ended = tonumber(outcome[4]) or 0
    return ended >= (from_ms or ended) and ended < (to_ms or ended + 1)
end

-- Whether this and all older entries are before from_ms, so that a page with the newest first can end.
local function is_too_early(entry)
    return newest and from_ms and string.find(entry[1], '-0$') and is_before_period(entry)
end

-- Examine an outcome of this entry, and add it to the answer if it is wanted. False: the page ends with it.
local function examine_outcome(entry, outcome)
    last, examined = outcome[1], examined + 1
    if (plan == '' or outcome[2] == plan) and (target == '' or outcome[3] == target) and is_in_period(outcome) and
        matches_record(outcome[5]) then
        found = found + 1
        outcome[6] = with_output and find_output(entry, outcome) or ''
        answer[#answer + 1] = outcome
    end
    return found < most and examined < EXAMINED_MAX
end

local function examine_entry(entry)
    local after, outcomes, several = last, outcomes_of(entry)
    for i = 1, #outcomes do
        local outcome = outcomes[newest and #outcomes + 1 - i or i]
        if (not several or is_after_place(outcome[1], after)) and not examine_outcome(entry[1], outcome) then
            return false
        end
    end
    return true
end

if from_ms and not newest and last == '' and answer[3] ~= '' then
    skip_earlier()
end
while true do
    local page = next_entries()
    for _, entry in ipairs(page) do
        local before = examined
        if is_too_early(entry) then
            return answer
        elseif not examine_entry(entry) then
            answer[4] = last
            return answer
        elseif not newest or examined == before and entry ~= page.within then
            last = entry[1] -- also if it is unreadable, or its remaining outcomes were in an earlier page
        end
    end
    if page.ends or #page < CHUNK then
        return answer
    end
end
