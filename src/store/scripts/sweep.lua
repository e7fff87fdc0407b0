#!lua flags=allow-oom
-- Look at a page of plans for what hand edits and losses leave behind: entries without a message are
-- repaired, plans outside the queue are returned, for the caller to judge by their state. And forget the
-- outcomes that are too old.
-- KEYS  1 time set  2 index  3 history  4 runs in flight
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
--       3 seconds that outcomes are kept
-- Answers {last id of the page or '' at the end, repaired, member, message, run in flight or '', ...}
-- Cost  O(log n + page).
--@include plan.lua
--@include outcomes.lua
-- A page ends by bytes as well, so that large plans do not hold the connection.
local BYTES_MAX = 4194304
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. ';'
local page = redis.call('ZRANGEBYLEX', KEYS[2], from, '+', 'LIMIT', 0, ARGV[2])

-- Outcomes that are too old go, a bounded number a turn. Their entries are in the order of time.
local time = redis.call('TIME')
local oldest = (time[1] - ARGV[3]) * 1000
local function forget_old(most)
    local old = {}
    for _, entry in ipairs(own('XRANGE', KEYS[3], '-', '+', 'COUNT', most)) do
        if (tonumber(entry_field(entry[2], 't')) or 0) >= oldest then
            break
        end
        old[#old + 1] = entry[1]
    end
    if #old > 0 then
        redis.call('XDEL', KEYS[3], unpack(old))
    end
    return #old
end
-- A look at the first tells mostly that there is none; an entry may be large, so they are read by few.
local FORGET_MAX, CHUNK = 1000, 10
local forgotten, asked = 0, 1
repeat
    local old = forget_old(asked)
    local all_were = old == asked
    forgotten = forgotten + old
    asked = math.min(CHUNK, FORGET_MAX - forgotten)
until not all_were or asked == 0
forgot_trim()

local repaired, answer, bytes = 0, {}, 0
local last = ''
for i, entry in ipairs(page) do
    local station, id = entry_parse(entry)
    local member = id and message_key(station, id)
    local message = id and redis.pcall('GET', member)
    if type(message) ~= 'string' then
        index_remove({entry}, {station or ''}, {''})
        if id then
            forget({member}, {station})
        end
        repaired = repaired + 1
    elseif not redis.call('ZSCORE', KEYS[1], member) then
        answer[#answer + 1] = member
        answer[#answer + 1] = message
        answer[#answer + 1] = own('HGET', KEYS[4], member) or ''
        bytes = bytes + #message
    end
    if bytes > BYTES_MAX or i == tonumber(ARGV[2]) then
        last = string.sub(entry, 1, 16)
        break
    end
end
return {last, repaired, unpack(answer)}
