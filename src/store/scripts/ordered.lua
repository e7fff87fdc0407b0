#!lua flags=allow-oom
-- A page of plans in the order of a sorted set of message keys.
-- KEYS  1 the set  2 runs
-- ARGV  1 score in us to continue after, '' = from the start  2 member with that score to continue after
--       3 1 = the greatest score first  4 target, '' = any
--       5 score at least, in s, '' = any  6 score less than, in s, '' = any  7 maximum of messages
--       8 1 = without plans whose run is in progress
-- Answers {last score examined or '' = the end was reached, its member; score, member, its message or '', its run
--          or '', score, ...}
-- A page is also bounded by what is examined: 2000 members, 4 MiB. It may hold fewer plans without being the last.
-- Cost  O(log n * log n + plans examined).
--@include place.lua
local MEMBERS_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local place, greatest_first, target = tonumber(ARGV[1]), ARGV[3] == '1', ARGV[4]
local least, less_than, most, no_runs = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1'
local examined, seen, bytes, answer = 0, 0, 0, {'', ''}

-- The ranks of the page, the least score first: from `first` to before `last`.
local all = redis.call('ZCARD', KEYS[1])
local first = least ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. least) or 0
local last = less_than ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. less_than) or all
if place and greatest_first then
    last = math.min(last, rank_after(KEYS[1], place, ARGV[2], true))
elseif place then
    first = math.max(first, rank_after(KEYS[1], place, ARGV[2]))
end

-- Add the wanted plans of these members, each followed by its score, to the answer. Returns whether it is full.
local function add_page(page)
    local members, places, wanted = {}, {}, {}
    for nth = 1, #page, 2 do
        local station, id = string.match(page[nth], '^plan:msg:([%w_.-]+):([1-9a-f][0-9a-f]*)$')
        if station and #id <= 16 then
            members[#members + 1], places[nth] = page[nth], #members + 1
            wanted[nth] = target == '' or station == target
        end
    end
    local runs = #members > 0 and redis.pcall('HMGET', KEYS[2], unpack(members)) or {}
    for nth = 1, #page, 2 do
        local member, score, run = page[nth], page[nth + 1], runs[places[nth]] or ''
        if examined >= MEMBERS_MAX or seen >= most or bytes > BYTES_MAX then
            return true
        end
        if wanted[nth] and not (no_runs and string.find(run, '^%d')) then
            local size, message = #answer, redis.pcall('GET', member)
            message = type(message) == 'string' and message or ''
            seen, bytes = seen + 1, bytes + #message
            answer[size + 1], answer[size + 2], answer[size + 3], answer[size + 4] = score, member, message, run
        end
        examined = examined + 1
        if places[nth] then -- a member that is no message key is no place to continue after
            answer[1], answer[2] = score, member
        end
    end
end

local way = greatest_first and {'REV', 'WITHSCORES'} or {'WITHSCORES'}
while first < last do
    -- Without a target most members have a message; one more member shows whether the end was reached.
    local count = math.min(last - first, target == '' and most - seen + 1 or CHUNK, CHUNK)
    local from = greatest_first and all - last or first
    if add_page(redis.call('ZRANGE', KEYS[1], from, from + count - 1, unpack(way))) then
        return answer
    end
    first, last = greatest_first and first or first + count, greatest_first and last - count or last
end
answer[1], answer[2] = '', ''
return answer
