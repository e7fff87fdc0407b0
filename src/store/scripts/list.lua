#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
-- Answers {1 there may be more plans or 0, index entry, message or '', index entry, message or '', ...}
-- Cost  O(log n + page).
--@include plan.lua
-- A page ends by bytes as well, so that large plans do not hold the connection.
local BYTES_MAX = 4194304
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. ';'
local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, ARGV[2])
local answer, bytes = {#page == tonumber(ARGV[2]) and 1 or 0}, 0
for _, entry in ipairs(page) do
    local station, id = entry_parse(entry)
    local message = id and redis.pcall('GET', message_key(station, id))
    answer[#answer + 1] = entry
    message = type(message) == 'string' and message or ''
    answer[#answer + 1] = message
    bytes = bytes + #message
    if bytes > BYTES_MAX then
        answer[1] = 1
        break
    end
end
return answer
