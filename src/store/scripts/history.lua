#!lua flags=allow-oom
-- Outcomes of runs, oldest first or newest first.
-- KEYS  1 history  2 meta
-- ARGV  1 entry to go on behind, '' = from the end  2 most outcomes  3 1 = newest first
--       4 plan id, '' = any  5 station, '' = any  6 1 = with what the runs wrote
-- Answers {seq, epoch, first entry kept or '', last entry looked at or '' at the end, the highest number of
--          those that were taken out by forget or '', {entry, plan, station, ended in ms, record, output or ''}, ...}
-- Cost  O(log n + outcomes looked at).
--@include plan.lua
--@include outcomes.lua
-- An entry may hold some hundred outcomes.
local LOOK_MAX, CHUNK = 5000, 20
local most, newest = tonumber(ARGV[2]), ARGV[3] == '1'
local plan_wanted, station_wanted, with_output = ARGV[4], ARGV[5], ARGV[6] == '1'

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

-- The next entries behind the last outcome looked at, and whether they are the last ones. When that was, or
-- may have been, in the middle of an entry, it is the first of them.
local function entries_behind(last)
    local page, within
    if last == '' then
        page = newest and redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', CHUNK)
               or redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', CHUNK)
    elseif newest then
        page = redis.call('XREVRANGE', KEYS[1], '(' .. last, '-', 'COUNT', CHUNK)
        within = redis.call('XRANGE', KEYS[1], last, '+', 'COUNT', 1)[1]
    else
        page = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', CHUNK)
    end
    local ends = #page < CHUNK
    if within and entry_size(within[2]) > 1 then
        table.insert(page, 1, within)
    end
    return page, ends
end

local first = own('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
first = first and (outcomes_of(first)[1] or first)
local answer = {string.format('%.0f', last_seq()), own('HGET', KEYS[2], 'epoch') or '',
                first and first[1] or '', '', own('HGET', KEYS[2], 'forgot') or ''}
local last, looked, found = ARGV[1], 0, 0

-- What the run of an outcome wrote, or what a later one of its plan did (the caller knows its exec_id): the first
-- entry of plan:output that is not before it may hold it. There is one of this plan in an entry, and one entry for
-- all outcomes of an entry of the history, which is read once.
local outputs = {}
local function output_of(entry, outcome)
    if outputs.of ~= entry then
        local found = redis.pcall('XRANGE', 'plan:output', outcome[1], '+', 'COUNT', 1)
        outputs = {of = entry, fields = found[1] and found[1][2] or {}}
    end
    local fields, run = outputs.fields, outcome[3] .. ':' .. outcome[2] .. ' '
    for i = 3, #fields, 2 do
        if string.sub(fields[i + 1], 1, #run) == run then
            return fields[i + 1]
        end
    end
    return ''
end

-- Look at one outcome of this entry. False: the page ends with it.
local function look(entry, outcome)
    last, looked = outcome[1], looked + 1
    if (plan_wanted == '' or outcome[2] == plan_wanted)
       and (station_wanted == '' or outcome[3] == station_wanted) then
        found = found + 1
        outcome[6] = with_output and output_of(entry, outcome) or ''
        answer[#answer + 1] = outcome
    end
    return found < most and looked < LOOK_MAX
end

local function look_at(entry)
    local after = last
    local outcomes, several = outcomes_of(entry)
    for i = 1, #outcomes do
        local outcome = outcomes[newest and #outcomes + 1 - i or i]
        if (not several or is_behind(outcome[1], after)) and not look(entry[1], outcome) then
            return false
        end
    end
    if #outcomes == 0 then -- nobody can read it: the page goes on behind all that it says it holds
        local seq = tonumber(string.match(entry[1], '^%d+'))
        last = newest and string.format('%.0f-0', math.max(seq - entry_size(entry[2]) + 1, 1)) or entry[1]
    end
    return true
end

while true do
    local page, ends = entries_behind(last)
    for _, entry in ipairs(page) do
        if not look_at(entry) then
            answer[4] = last
            return answer
        end
    end
    if ends then
        return answer
    end
end
