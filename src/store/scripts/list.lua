#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
-- Answers {index entry, message or '', index entry, message or '', ...}
-- Cost  O(log n + page).
--@include plan.lua
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. ';'
local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, ARGV[2])
local answer = {}
for _, entry in ipairs(page) do
    local station, id = entry_parse(entry)
    local message = id and redis.pcall('GET', message_key(station, id))
    answer[#answer + 1] = entry
    answer[#answer + 1] = type(message) == 'string' and message or ''
end
return answer
