#!lua flags=allow-oom
-- Remove outcomes from the history, for example after they were archived.
-- KEYS  1 history  2 meta  3 outputs
-- ARGV  1 the epoch of their numbers  2 the target that they must have, '' = any
--       3 their entries, SEQ-SUB or SEQ-SUB:T, each followed by a blank: T is when it was written, in ms
-- Answers {1, number of outcomes removed} or, if the epoch has changed, {0, the current epoch}
-- Cost  O(log n) for each outcome, and the size of a packed entry.
--@include outcomes.lua
local meta = read('HMGET', KEYS[2], 'epoch', 'forgot', 'seq') or {}
if (meta[1] or '') ~= ARGV[1] then
    return {0, meta[1] or ''}
end
local forgotten, highest = 0, tonumber(meta[2] or '') or 0

-- Delete a key that has a wrong type.
for key, kind in pairs({[KEYS[2]] = 'hash', [FORGOT] = 'zset'}) do
    if redis.call('TYPE', key).ok ~= kind then
        redis.call('DEL', key)
    end
end

-- The packed entry (of several outcomes) that was read last: its outcomes by their names, and how many are left.
local packed = {first = 1, last = 0}

-- The outcome with this name, or nil; and whether it is in a packed entry, whose name is that of its last outcome.
local function find_outcome(name, seq, sub)
    if sub ~= '0' or seq < packed.first or seq > packed.last then
        local entry = (read('XRANGE', KEYS[1], name, '+', 'COUNT', 1) or {})[1]
        local outcomes, several = {}, false
        if entry then
            outcomes, several = outcomes_of(entry)
        end
        if not several then
            return entry and entry[1] == name and outcomes[1], false
        end
        packed = {name = entry[1], left = #outcomes, last = select(2, span_of(entry))}
        packed.first = outcomes[1] and tonumber(string.match(outcomes[1][1], '^%d+')) or packed.last + 1
        for _, outcome in ipairs(outcomes) do
            packed[outcome[1]] = outcome
        end
    end
    return packed[name], true
end

local function remove_outcome(outcome, seq, several)
    local name = outcome[1]
    if several then
        packed[name], packed.left = nil, packed.left - 1
        redis.call('ZADD', FORGOT, number(seq), forgot_mark(seq, outcome[4]))
        name = packed.left == 0 and packed.name
    end
    if name then
        redis.call('XDEL', KEYS[1], name)
        redis.pcall('XDEL', KEYS[3], name)
    end
end

for name, ended in string.gmatch(ARGV[3], '(%d+%-%d+):?(%d*) ') do
    local seq, sub = string.match(name, '^(%d+)-(%d+)$')
    seq = tonumber(seq)
    local outcome, several = find_outcome(name, seq, sub)
    if outcome and (ARGV[2] == '' or outcome[3] == ARGV[2]) and (ended == '' or outcome[4] == ended) then
        remove_outcome(outcome, seq, several)
        forgotten = forgotten + 1
        highest = sub == '0' and math.max(highest, seq) or highest
    end
end
-- Store the highest number removed: a subscriber that asks for broadcasts after a lower one learns of the gap.
if highest > 0 then
    redis.call('HSET', KEYS[2], 'forgot', number(highest))
end
-- Delete marks of numbers before the first entry, or after the last broadcast: they are not used any more.
local oldest = (read('XRANGE', KEYS[1], '-', '+', 'COUNT', 1) or {})[1]
redis.call('ZREMRANGEBYSCORE', FORGOT, '-inf', oldest and '(' .. number((span_of(oldest))) or '+inf')
local seq = tonumber(meta[3] or '')
if seq then
    redis.call('ZREMRANGEBYSCORE', FORGOT, '(' .. number(seq), '+inf')
end
return {1, forgotten}
