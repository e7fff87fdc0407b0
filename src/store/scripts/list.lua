#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
--       3 station, '' = any  4 plan_state as a number, '' = any  5 plan_type, '' = any
--       then members that the message must have, all of them: "NAME":VALUE as the station writes it
-- Answers {last id looked at, '' = that was all, index entry, message, index entry, message, ...}.
-- A page is bounded by what it looks at as well, so that it holds nobody up: 2000 entries, 250 messages
-- (or as many as are wanted), 4 MiB. So it may hold fewer plans, or none, and not be the last.
-- Cost  O(log n + plans looked at).
--@include plan.lua
local ENTRIES_MAX, MESSAGES_MAX, BYTES_MAX, CHUNK = 2000, 250, 4194304, 500
local most, station_wanted = tonumber(ARGV[2]), ARGV[3]
local entries_max, messages_max = math.max(ENTRIES_MAX, most), math.max(MESSAGES_MAX, most)
local state_wanted, type_wanted = ARGV[4], ARGV[5]
local entries_seen, messages_seen, bytes, found = 0, 0, 0, 0
local answer = {''}
local last = ARGV[1] ~= '' and ARGV[1] or nil

-- In JSON text the quotes inside of strings are escaped: `"name":` is a member, and nothing else is.
-- Who edits a message by hand may put spaces.
local function has(message, name, value)
    local at, last = 1
    while true do
        at, last = string.find(message, name, at, true)
        if not at then
            return false
        end
        local _, colon = string.find(message, '^%s*:%s*', last + 1)
        if colon and string.sub(message, colon + 1, colon + #value) == value
           and string.find(message, '^%s*[,}]', colon + #value + 1) then
            return true
        end
        at = last + 1
    end
end

local function fits(message)
    for i = 6, #ARGV do
        local name, value = string.match(ARGV[i], '^("[^"]*"):(.*)$')
        if not has(message, name, value) then
            return false
        end
    end
    return (state_wanted == '' or string.match(message, '"plan_state"%s*:%s*(%d+)') == state_wanted)
           and (type_wanted == '' or string.match(message, '"plan_type"%s*:%s*(%d+)') == type_wanted)
end

local from = last and '(' .. last .. ';' or '-'
while true do
    -- Without a wish for a station each entry costs a message.
    local chunk = math.min(CHUNK, math.max(most - found, station_wanted == '' and 100 or CHUNK))
    local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, chunk)
    for _, entry in ipairs(page) do
        -- A page ends between two ids, never between two entries of one.
        local digits = string.sub(entry, 1, 16)
        if digits ~= last and (found >= most or entries_seen >= entries_max
                               or messages_seen >= messages_max or bytes > BYTES_MAX) then
            answer[1] = last
            return answer
        end
        local station, id = entry_parse(entry)
        if id then
            entries_seen = entries_seen + 1
            last = digits
        end
        if id and (station_wanted == '' or station == station_wanted) then
            local message = redis.pcall('GET', message_key(station, id))
            messages_seen = messages_seen + 1
            if type(message) == 'string' then
                message = as_running(message, own('HGET', 'plan:run', message_key(station, id)))
                bytes = bytes + #message
                if fits(message) then
                    found = found + 1
                    answer[#answer + 1] = entry
                    answer[#answer + 1] = message
                end
            end
        end
    end
    if #page < chunk then
        return answer
    end
    from = '(' .. page[#page]
end
