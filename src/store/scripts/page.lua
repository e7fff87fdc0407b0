#!lua flags=allow-oom
-- A page of the queue behind a place in it, which may have left it since.
-- KEYS  1 time set  2 classes
-- ARGV  1 score of the place in us, '' = from the start  2 its member, '' = behind all of that score  3 most members
-- Answers {member, score, class or '', ...}
-- Cost  O(log n * log n + page).
local score, member, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

-- By their bytes, as Redis sorts them: Lua compares as the server's locale does.
local function sorts_behind(text, other)
    for i = 1, math.min(#text, #other) do
        local byte, other_byte = string.byte(text, i), string.byte(other, i)
        if byte ~= other_byte then
            return byte > other_byte
        end
    end
    return #text > #other
end

local function is_behind(rank)
    local at = redis.call('ZRANGE', KEYS[1], rank, rank, 'WITHSCORES')
    local us = math.floor(at[2] * 1000000 + 0.5)
    return us > score or us == score and member ~= '' and sorts_behind(at[1], member)
end

-- Members behind the place follow those that are not.
local first, last = 0, score and redis.call('ZCARD', KEYS[1]) or 0
while first < last do
    local middle = math.floor((first + last) / 2)
    if is_behind(middle) then
        last = middle
    else
        first = middle + 1
    end
end
local page = redis.call('ZRANGE', KEYS[1], first, first + most - 1, 'WITHSCORES')
local members, answer = {}, {}
for i = 1, #page, 2 do
    members[#members + 1] = page[i]
end
local has_classes = #members > 0 and redis.call('EXISTS', KEYS[2]) == 1
local classes = has_classes and redis.pcall('HMGET', KEYS[2], unpack(members)) or {}
for i = 1, #members do
    answer[3 * i - 2], answer[3 * i - 1], answer[3 * i] = members[i], page[2 * i], classes[i] or ''
end
return answer
