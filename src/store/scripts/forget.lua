#!lua flags=allow-oom
-- Take outcomes out of the history, which somebody else keeps now.
-- KEYS  1 history  2 meta  3 outputs
-- ARGV  1 the epoch that their numbers are of  2 the target that they must be of, '' = any
--       3 their entries, SEQ-SUB or SEQ-SUB:T, with a blank behind each: T is when it was written, in ms
-- Answers {1, how many were there} or, when the epoch is another one, {0, the present epoch}
-- Cost  O(log n) for each, and what an entry of several holds.
--@include outcomes.lua
local meta = read('HMGET', KEYS[2], 'epoch', 'forgot', 'seq') or {}
if (meta[1] or '') ~= ARGV[1] then
    return {0, meta[1] or ''}
end
local forgotten, highest = 0, tonumber(meta[2] or '') or 0

-- A key of another type is replaced.
for key, kind in pairs({[KEYS[2]] = 'hash', [FORGOT] = 'zset'}) do
    if redis.call('TYPE', key).ok ~= kind then
        redis.call('DEL', key)
    end
end

-- The entry of several that was looked at last: its outcomes by their names, and how many are left.
local held = {first = 1, last = 0}

-- The outcome of this name, or nil; and whether it is one of several: it has the entry's name, or is of several
-- that end with it.
local function find(name, seq, sub)
    if sub ~= '0' or seq < held.first or seq > held.last then
        local entry = (read('XRANGE', KEYS[1], name, '+', 'COUNT', 1) or {})[1]
        local outcomes, several = {}, false
        if entry then
            outcomes, several = outcomes_of(entry)
        end
        if not several then
            return entry and entry[1] == name and outcomes[1], false
        end
        held = {name = entry[1], left = #outcomes, last = select(2, span_of(entry))}
        held.first = outcomes[1] and tonumber(string.match(outcomes[1][1], '^%d+')) or held.last + 1
        for _, outcome in ipairs(outcomes) do
            held[outcome[1]] = outcome
        end
    end
    return held[name], true
end

local function take_out(outcome, seq, several)
    local name = outcome[1]
    if several then
        held[name], held.left = nil, held.left - 1
        redis.call('ZADD', FORGOT, number(seq), forgot_mark(seq, outcome[4]))
        name = held.left == 0 and held.name
    end
    if name then
        redis.call('XDEL', KEYS[1], name)
        redis.pcall('XDEL', KEYS[3], name)
    end
end

for name, ended in string.gmatch(ARGV[3], '(%d+%-%d+):?(%d*) ') do
    local seq, sub = string.match(name, '^(%d+)-(%d+)$')
    seq = tonumber(seq)
    local outcome, several = find(name, seq, sub)
    if outcome and (ARGV[2] == '' or outcome[3] == ARGV[2]) and (ended == '' or outcome[4] == ended) then
        take_out(outcome, seq, several)
        forgotten = forgotten + 1
        highest = sub == '0' and math.max(highest, seq) or highest
    end
end
-- Who asks for broadcasts behind a lower number is to learn that some are missing.
if highest > 0 then
    redis.call('HSET', KEYS[2], 'forgot', number(highest))
end
-- Marks of what stands before the first entry, or behind the last broadcast, mean nothing any more.
local oldest = (read('XRANGE', KEYS[1], '-', '+', 'COUNT', 1) or {})[1]
redis.call('ZREMRANGEBYSCORE', FORGOT, '-inf', oldest and '(' .. number((span_of(oldest))) or '+inf')
local seq = tonumber(meta[3] or '')
if seq then
    redis.call('ZREMRANGEBYSCORE', FORGOT, '(' .. number(seq), '+inf')
end
return {1, forgotten}
