#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index  2 runs
-- ARGV  1 the last id of the previous page, 16 hex digits, '' = from the start  2 target, '' = any
--       3 maximum of messages
-- Answers {last id examined, '' = the end was reached; index entry, message, its run or '', index entry, ...}.
-- A page is also bounded by what is examined, so that it does not block other clients: 2000 entries, 4 MiB. So it may
-- hold fewer plans, or none, without being the last.
-- Cost  O(log n + plans examined).
local ENTRIES_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local target, messages_max = ARGV[2], tonumber(ARGV[3])
local entries_seen, messages_seen, bytes = 0, 0, 0
local answer, last = {''}, ARGV[1] ~= '' and ARGV[1] or nil
local from = last and '(' .. last .. ';' or '-'

-- Add the wanted plans of these entries to the answer. Returns whether it is full.
local function add_page(page)
    local ids, members, places = {}, {}, {}
    for nth, entry in ipairs(page) do
        local digits, id, station = string.match(entry, '^(0*([1-9a-f][0-9a-f]*)):([%w_.-]+)$')
        ids[nth] = digits and #digits == 16 and digits
        if ids[nth] and (target == '' or station == target) then
            members[#members + 1] = 'plan:msg:' .. station .. ':' .. id
            places[nth] = #members
        end
    end
    local runs = #members > 0 and redis.pcall('HMGET', KEYS[2], unpack(members)) or {}
    for nth, entry in ipairs(page) do
        -- A page ends between two ids, never between two entries of one id; what is no entry may stand between these.
        local digits, place = ids[nth], places[nth]
        if digits and digits ~= last and (entries_seen >= ENTRIES_MAX or messages_seen >= messages_max or bytes > BYTES_MAX) then
            return true
        end
        if digits then
            entries_seen, last = entries_seen + 1, digits
        end
        local message = place and redis.pcall('GET', members[place])
        messages_seen = messages_seen + (place and 1 or 0)
        if type(message) == 'string' then
            local size = #answer
            bytes = bytes + #message
            answer[size + 1], answer[size + 2], answer[size + 3] = entry, message, runs[place] or ''
        end
    end
end

while true do
    -- Without a target each entry has a message; one more entry shows whether the end was reached.
    local count = target == '' and math.max(1, math.min(CHUNK, messages_max - messages_seen + 1)) or CHUNK
    local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, count)
    if add_page(page) then
        answer[1] = last
        return answer
    end
    if #page < count then
        return answer
    end
    from = '(' .. page[#page]
end
