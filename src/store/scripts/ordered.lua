#!lua flags=allow-oom
-- A page of plans in the order of a sorted set of message keys.
-- KEYS  1 the set  2 runs
-- ARGV  1 score of the place in us, '' = from the start  2 its member  3 1 = the greatest score first  4 target, '' = any
--       5 the least score in s, '' = any  6 the score in s behind the greatest, '' = any  7 most messages
--       8 1 = without plans whose run is in progress
-- Answers {score in us or '' = that was all, its member, {score in us, index entry, message, its run or ''}, ...}; a
--         member without a message has '' for it.
-- A page is bounded by what it looks at as well: 2000 members, 4 MiB. It may hold fewer plans, and not be the last.
-- Cost  O(log n * log n + plans looked at).
--@include place.lua
local MEMBERS_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local place, greatest_first, target = tonumber(ARGV[1]), ARGV[3] == '1', ARGV[4]
local least, behind, most, no_runs = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1'
local looked, messages, bytes, answer = 0, 0, 0, {'', ''}

-- Ranks from the first to the one behind the last, the least score first.
local first = least ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. least) or 0
local last = behind ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. behind) or redis.call('ZCARD', KEYS[1])
if place and greatest_first then
    last = math.min(last, rank_behind(KEYS[1], place, ARGV[2], true))
elseif place then
    first = math.max(first, rank_behind(KEYS[1], place, ARGV[2]))
end

local function look_at(member, us)
    local station, id = string.match(member, '^plan:msg:([%w_.-]+):([1-9a-f][0-9a-f]*)$')
    if not station or #id > 16 or target ~= '' and station ~= target then
        return
    end
    local run = redis.pcall('HGET', KEYS[2], member)
    run = type(run) == 'string' and run or ''
    if no_runs and string.find(run, '^%d') then
        return
    end
    local message = redis.pcall('GET', member)
    message = type(message) == 'string' and message or ''
    messages, bytes = messages + 1, bytes + #message
    answer[#answer + 1] = {string.format('%.0f', us), string.rep('0', 16 - #id) .. id .. ':' .. station, message, run}
end

while first < last do
    local count = math.min(CHUNK, last - first)
    local from = greatest_first and last - count or first
    local page = redis.call('ZRANGE', KEYS[1], from, from + count - 1, 'WITHSCORES')
    for nth = 1, count do
        local at = 2 * (greatest_first and count + 1 - nth or nth)
        local member, us = page[at - 1], score_us(page[at])
        if looked >= MEMBERS_MAX or messages >= most or bytes > BYTES_MAX then
            return answer
        end
        look_at(member, us)
        looked, answer[1], answer[2] = looked + 1, string.format('%.0f', us), member
    end
    first, last = greatest_first and first or first + count, greatest_first and last - count or last
end
answer[1], answer[2] = '', ''
return answer
