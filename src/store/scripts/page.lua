#!lua flags=allow-oom
-- A page of the queue after a score and a member, which may have left the queue since.
-- KEYS  1 time set  2 classes
-- ARGV  1 score in us to continue after, '' = from the start
--       2 member with that score to continue after, '' = after all members with that score  3 maximum of members
-- Answers {member, score, class or '', ...}
-- Cost  O(log n * log n + page).
--@include place.lua
local score, most = tonumber(ARGV[1]), ARGV[3]

local first = score and rank_after(KEYS[1], score, ARGV[2]) or 0
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
