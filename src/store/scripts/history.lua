#!lua flags=allow-oom
-- Outcomes of runs, oldest first or newest first.
-- KEYS  1 history  2 meta  3 outputs
-- ARGV  1 entry to go on behind, '' = from the end  2 most outcomes  3 1 = newest first
--       4 plan id, '' = any  5 target, '' = any  6 1 = with what the runs wrote  7 run of a flow, '' = any
-- Answers {seq, epoch, first entry kept or '', last entry looked at or '' at the end, the highest number of
--          those that were taken out by forget or '', {entry, plan, target, ended in ms, record, output or ''}, ...}
-- Cost  O(log n + outcomes looked at).
--@include outcomes.lua
-- An entry may hold some hundred outcomes.
local LOOK_MAX, CHUNK = 5000, 20
local most, newest = tonumber(ARGV[2]), ARGV[3] == '1'
local plan, target, with_output = ARGV[4], ARGV[5], ARGV[6] == '1'
local flow_run = tonumber(ARGV[7]) -- microseconds of a claim: a double has them exactly
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

local function is_of_run(record)
    if not flow_run then
        return true
    elseif not string.find(record, 'flow_run', 1, true) then
        return false
    end
    local sound, fields = pcall(cmsgpack.unpack, record)
    return sound and type(fields) == 'table' and fields.flow_run == flow_run
end

-- Look at one outcome of this entry. False: the page ends with it.
local function look(entry, outcome)
    last, looked = outcome[1], looked + 1
    if (plan == '' or outcome[2] == plan) and (target == '' or outcome[3] == target) and is_of_run(outcome[5]) then
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

while true do
    local page = entries_behind()
    for _, entry in ipairs(page) do
        local before = looked
        if not look_at(entry) then
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
