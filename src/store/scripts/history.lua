#!lua flags=allow-oom
-- Outcomes of runs, oldest first or newest first.
-- KEYS  1 history  2 meta
-- ARGV  1 entry to go on behind, '' = from the end  2 most outcomes  3 1 = newest first
--       4 plan id, '' = any  5 station, '' = any
-- Answers {seq, epoch, first entry kept or '', last entry looked at or '' at the end,
--          {entry, plan, station, ended in ms, record}, ...}
-- Cost  O(log n + outcomes looked at).
--@include plan.lua
local LOOK_MAX, CHUNK = 5000, 500
local most, newest = tonumber(ARGV[2]), ARGV[3] == '1'
local plan_wanted, station_wanted = ARGV[4], ARGV[5]
local first = own('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)
local answer = {string.format('%.0f', last_seq()), own('HGET', KEYS[2], 'epoch') or '',
                first[1] and first[1][1] or '', ''}
local last, looked, found = ARGV[1], 0, 0

local function field(fields, name)
    for i = 1, #fields, 2 do
        if fields[i] == name then
            return fields[i + 1]
        end
    end
    return ''
end

while true do
    local from = last ~= '' and '(' .. last
    local chunk = math.min(CHUNK, (plan_wanted == '' and station_wanted == '') and most - found or CHUNK)
    local page
    if newest then
        page = redis.call('XREVRANGE', KEYS[1], from or '+', '-', 'COUNT', chunk)
    else
        page = redis.call('XRANGE', KEYS[1], from or '-', '+', 'COUNT', chunk)
    end
    for _, entry in ipairs(page) do
        local plan, station = field(entry[2], 'p'), field(entry[2], 's')
        last, looked = entry[1], looked + 1
        if (plan_wanted == '' or plan == plan_wanted)
           and (station_wanted == '' or station == station_wanted) then
            found = found + 1
            answer[#answer + 1] = {entry[1], plan, station, field(entry[2], 't'), field(entry[2], 'r')}
        end
        if found >= most or looked >= LOOK_MAX then
            answer[4] = last
            return answer
        end
    end
    if #page < chunk then
        return answer
    end
end
