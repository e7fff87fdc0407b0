#!lua flags=allow-oom
-- A page of plans in the order of a sorted set of message keys.
-- KEYS  1 the set  2 runs
-- ARGV  1 score of the place in us, '' = from the start  2 its member  3 1 = the greatest score first  4 target, '' = any
--       5 the least score in s, '' = any  6 the score in s behind the greatest, '' = any  7 most messages
--       8 1 = without plans whose run is in progress
-- Answers {score or '' = that was all, its member; score, member, its message or '', its run or '', score, ...}
-- A page is bounded by what it looks at as well: 2000 members, 4 MiB. It may hold fewer plans, and not be the last.
-- Cost  O(log n * log n + plans looked at).
--@include place.lua
--@include plans.lua
local MEMBERS_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local place, greatest_first, target = tonumber(ARGV[1]), ARGV[3] == '1', ARGV[4]
local least, behind, most, no_runs = ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1'
local looked, seen, bytes, batch, answer = 0, 0, 0, 4, {'', ''}

-- Ranks from the first to the one behind the last, the least score first.
local all = redis.call('ZCARD', KEYS[1])
local first = least ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. least) or 0
local last = behind ~= '' and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. behind) or all
if place and greatest_first then
    last = math.min(last, rank_behind(KEYS[1], place, ARGV[2], true))
elseif place then
    first = math.max(first, rank_behind(KEYS[1], place, ARGV[2]))
end

local function is_wanted(member)
    local station, id = string.match(member, '^plan:msg:([%w_.-]+):([1-9a-f][0-9a-f]*)$')
    return station and #id <= 16 and (target == '' or station == target)
end

-- Look at these members of a page, each followed by its score. Returns whether the answer is full.
local function look_at(page, from, behind)
    local members, wanted, places = {}, {}, {}
    for nth = from, behind - 1 do
        if is_wanted(page[2 * nth - 1]) then
            members[#members + 1], places[nth] = page[2 * nth - 1], #members + 1
        end
    end
    local runs = read_runs(KEYS[2], members)
    for place, member in ipairs(members) do
        if not (no_runs and string.find(runs[place] or '', '^%d')) then
            wanted[#wanted + 1] = member
        end
    end
    local messages, nth_message = read_messages(wanted), 1
    for nth = from, behind - 1 do
        local member, score = page[2 * nth - 1], page[2 * nth]
        if looked >= MEMBERS_MAX or seen >= most or bytes > BYTES_MAX then
            return true
        end
        if wanted[nth_message] == member then
            local size, message = #answer, messages[nth_message] or ''
            nth_message, seen, bytes = nth_message + 1, seen + 1, bytes + #message
            answer[size + 1], answer[size + 2], answer[size + 3] = score, member, message
            answer[size + 4] = runs[places[nth]] or ''
        end
        looked, answer[1], answer[2] = looked + 1, score, member
    end
end

local way = greatest_first and {'REV', 'WITHSCORES'} or {'WITHSCORES'}
while first < last do
    -- Without a target most members are messages; one more tells whether this was all.
    local count = math.min(last - first, target == '' and most - seen + 1 or CHUNK, CHUNK)
    local from = greatest_first and all - last or first
    local page = redis.call('ZRANGE', KEYS[1], from, from + count - 1, unpack(way))
    local at = 1
    while at <= count do
        local behind, before = math.min(at + batch, count + 1), bytes
        if look_at(page, at, behind) then
            return answer
        end
        at, batch = behind, next_batch(batch, bytes - before)
    end
    first, last = greatest_first and first or first + count, greatest_first and last - count or last
end
answer[1], answer[2] = '', ''
return answer
