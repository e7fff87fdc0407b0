#!lua flags=allow-oom
-- Take outcomes out of the history, which somebody else keeps now.
-- KEYS  1 history  2 meta
-- ARGV  1 the epoch that their numbers are of  2 the station that they must be of, '' = any
--       3 their entries, SEQ-SUB or SEQ-SUB:T, with a blank behind each: T is when it was written, in ms
-- Answers {1, how many were there} or, when the epoch is another one, {0, the present epoch}
-- Cost  O(log n) for each, and what an entry of several holds.
--@include plan.lua
--@include outcomes.lua
local epoch = own('HGET', KEYS[2], 'epoch') or ''
if epoch ~= ARGV[1] then
    return {0, epoch}
end
local wanted, forgotten = ARGV[2], 0
local before = tonumber(own('HGET', KEYS[2], 'forgot') or '') or 0
local highest = before

-- The entry of several that was looked at last: its outcomes by their names, and how many are left.
local held = {first = 1, last = 0}
local function hold(entry)
    local first, last = entry_span(entry)
    held = {name = entry[1], first = first, last = last, left = 0}
    for _, outcome in ipairs((outcomes_of(entry))) do
        held[outcome[1]] = outcome
        held.left = held.left + 1
    end
end

-- The outcome of this name, or nil; and whether it is one of several.
local function find_outcome(name, seq, sub)
    if sub == '0' and seq >= held.first and seq <= held.last then
        return held[name], true
    end
    -- It has the name, or is of several that end with it.
    local entry = own('XRANGE', KEYS[1], name, '+', 'COUNT', 1)[1]
    if entry and entry_field(entry[2], 'm') ~= '' then
        hold(entry)
        return held[name], true
    end
    return entry and entry[1] == name and outcomes_of(entry)[1], false
end

local function take_out(outcome, name, seq, several)
    if not several then
        redis.call('XDEL', KEYS[1], name)
        redis.pcall('XDEL', 'plan:output', name)
        return
    end
    held[name], held.left = nil, held.left - 1
    some_forgot = true
    own('ZADD', FORGOT, string.format('%.0f', seq), forgot_mark(seq, outcome[4]))
    if held.left == 0 then
        redis.call('XDEL', KEYS[1], held.name)
        redis.pcall('XDEL', 'plan:output', held.name)
        redis.call('ZREMRANGEBYSCORE', FORGOT, string.format('%.0f', held.first), string.format('%.0f', held.last))
    end
end

for name, ended in string.gmatch(ARGV[3], '(%d+%-%d+):?(%d*) ') do
    local seq, sub = string.match(name, '^(%d+)-(%d+)$')
    seq = tonumber(seq)
    local outcome, several = find_outcome(name, seq, sub)
    if outcome and (wanted == '' or outcome[3] == wanted) and (ended == '' or outcome[4] == ended) then
        take_out(outcome, name, seq, several)
        forgotten = forgotten + 1
        highest = sub == '0' and math.max(highest, seq) or highest
    end
end
-- Who asks for broadcasts behind a lower number is to hear that some are missing.
if highest > before then
    own('HSET', KEYS[2], 'forgot', string.format('%.0f', highest))
end
forgot_trim()
return {1, forgotten}
