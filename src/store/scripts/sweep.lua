#!lua flags=allow-oom
-- Look at a page of plans for what hand edits and losses leave behind: entries without a message are
-- repaired, plans outside the queue are told, for the caller to judge by their state.
-- KEYS  1 time set  2 index
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
-- Answers {last id of the page or '' at the end, repaired, member, message, member, message, ...}
-- Cost  O(log n + page).
--@include plan.lua
-- A page ends by bytes as well, so that large plans do not hold the connection.
local BYTES_MAX = 4194304
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. ';'
local page = redis.call('ZRANGEBYLEX', KEYS[2], from, '+', 'LIMIT', 0, ARGV[2])
local repaired, answer, bytes = 0, {}, 0
local last = ''
for i, entry in ipairs(page) do
    local station, id = entry_parse(entry)
    local member = id and message_key(station, id)
    local message = id and redis.pcall('GET', member)
    if type(message) ~= 'string' then
        redis.call('ZREM', KEYS[2], entry)
        if id then
            forget(station, id)
        end
        repaired = repaired + 1
    elseif not redis.call('ZSCORE', KEYS[1], member) then
        answer[#answer + 1] = member
        answer[#answer + 1] = message
        bytes = bytes + #message
    end
    if bytes > BYTES_MAX or i == tonumber(ARGV[2]) then
        last = string.sub(entry, 1, 16)
        break
    end
end
return {last, repaired, unpack(answer)}
