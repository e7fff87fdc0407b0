#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index  2 runs
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 target, '' = any  3 most messages
-- Answers {last id looked at, '' = that was all; index entry, message, its run or '', index entry, ...}.
-- A page is bounded by what it looks at as well, so that it holds nobody up: 2000 entries, 4 MiB. So it may hold
-- fewer plans, or none, and not be the last.
-- Cost  O(log n + plans looked at).
--@include plans.lua
local ENTRIES_MAX, BYTES_MAX, CHUNK = 2000, 4194304, 250
local target, messages_max = ARGV[2], tonumber(ARGV[3])
local entries_seen, messages_seen, bytes, batch = 0, 0, 0, 4
local answer, last = {''}, ARGV[1] ~= '' and ARGV[1] or nil
local from = last and '(' .. last .. ';' or '-'

-- Look at these entries of a page. Returns whether the answer is full.
local function look_at(page, first, behind)
    local ids, members, places = {}, {}, {}
    for nth = first, behind - 1 do
        local digits, id, station = string.match(page[nth], '^(0*([1-9a-f][0-9a-f]*)):([%w_.-]+)$')
        ids[nth] = digits
        if digits and #digits == 16 and (target == '' or station == target) then
            members[#members + 1] = 'plan:msg:' .. station .. ':' .. id
            places[nth] = #members
        end
    end
    local messages, runs = read_messages(members), read_runs(KEYS[2], members)
    for nth = first, behind - 1 do
        -- A page ends between two ids, never between two entries of one.
        local digits, place = ids[nth], places[nth]
        if digits ~= last and (entries_seen >= ENTRIES_MAX or messages_seen >= messages_max or bytes > BYTES_MAX) then
            return true
        end
        if digits and #digits == 16 then
            entries_seen, last = entries_seen + 1, digits
        end
        if place then
            messages_seen = messages_seen + 1
        end
        if place and messages[place] then
            bytes = bytes + #messages[place]
            answer[#answer + 1], answer[#answer + 2] = page[nth], messages[place]
            answer[#answer + 1] = runs[place] or ''
        end
    end
end

while true do
    -- Without a target each entry is a message; one more tells whether this was all.
    local count = target == '' and math.min(CHUNK, messages_max - messages_seen + 1) or CHUNK
    local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, count)
    local first = 1
    while first <= #page do
        local behind, before = math.min(first + batch, #page + 1), bytes
        if look_at(page, first, behind) then
            answer[1] = last
            return answer
        end
        first, batch = behind, next_batch(batch, bytes - before)
    end
    if #page < count then
        return answer
    end
    from = '(' .. page[#page]
end
