#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index  2 runs
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 target, '' = any  3 most messages
-- Answers {last id looked at, '' = that was all; index entry, message, its run or '', index entry, ...}.
-- A page is bounded by what it looks at as well, so that it holds nobody up: 2000 entries, 4 MiB. So it may hold
-- fewer plans, or none, and not be the last.
-- Cost  O(log n + plans looked at).
local ENTRIES_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local target, messages_max = ARGV[2], tonumber(ARGV[3])
local entries_seen, messages_seen, bytes = 0, 0, 0
local answer, last = {''}, ARGV[1] ~= '' and ARGV[1] or nil
local from = last and '(' .. last .. ';' or '-'

local function look_at(entry, station, id)
    local member = 'plan:msg:' .. station .. ':' .. id
    local message, run = redis.pcall('GET', member), redis.pcall('HGET', KEYS[2], member)
    messages_seen = messages_seen + 1
    if type(message) == 'string' then
        bytes = bytes + #message
        answer[#answer + 1], answer[#answer + 2] = entry, message
        answer[#answer + 1] = type(run) == 'string' and run or ''
    end
end

while true do
    local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, CHUNK)
    for _, entry in ipairs(page) do
        -- A page ends between two ids, never between two entries of one.
        local digits, id, station = string.match(entry, '^(0*([1-9a-f][0-9a-f]*)):([%w_.-]+)$')
        if digits ~= last and (entries_seen >= ENTRIES_MAX or messages_seen >= messages_max or bytes > BYTES_MAX) then
            answer[1] = last
            return answer
        end
        if digits and #digits == 16 then
            entries_seen, last = entries_seen + 1, digits
            if target == '' or station == target then
                look_at(entry, station, id)
            end
        end
    end
    if #page < CHUNK then
        return answer
    end
    from = '(' .. page[#page]
end
