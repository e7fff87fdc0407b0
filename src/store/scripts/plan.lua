-- What the scripts share; embed.py puts it where a script says --@include plan.lua.

-- A command on a key of the station's own. What somebody put there of another type is replaced, and
-- a station tells it; a number that somebody made none, or too large, begins anew.
local own
function own(command, key, ...)
    local answer = redis.pcall(command, key, ...)
    if type(answer) == 'table' and answer.err and string.find(answer.err, 'WRONGTYPE', 1, true) then
        redis.call('DEL', key)
        own('HSET', 'plan:meta', 'wrong', key)
        return redis.call(command, key, ...)
    elseif type(answer) == 'table' and answer.err and command == 'HINCRBY' then
        redis.call('HDEL', key, (...))
        return redis.call(command, key, ...)
    elseif type(answer) == 'table' and answer.err then
        error(answer.err)
    end
    return answer
end

-- The queue and the index, of which a script uses many commands: looked at before the first, so that
-- no script fails after half of its writes.
local QUEUED, LISTED = own('ZCARD', 'plan:time:set'), own('ZCARD', 'plan:ids')

local function message_key(station, id)
    return 'plan:msg:' .. station .. ':' .. id
end

-- An index entry taken apart: station and id, nil when it is none.
local function entry_parse(entry)
    local digits, station = string.match(entry, '^(%x+):([%w_.-]+)$')
    local id = digits and #digits == 16 and string.match(digits, '^0*(%x+)$')
    if id then
        return station, id
    end
end

-- The revision of a stored message: another one after every write. JSON text, in which the quotes
-- inside of strings are escaped: the pattern finds the field and nothing else.
local function revision(message)
    -- Where the station writes it, or anywhere.
    return string.match(message, '^,"revision":(%d+)', 66) or string.match(message, '"revision"%s*:%s*(%d+)')
           or '0'
end

-- A run in hand with the revision that its plan's message has now: "EXEC[+][?] REVISION". So the message
-- need not be read to see whether it is the one that was decided on.
local function held_of(held, number)
    return string.match(held, '^[^ ]*') .. ' ' .. number
end

-- In the place of the revision: the message is as the claim gave it, which did not look at it. Whoever writes
-- the message writes its revision here.
local AS_GIVEN = '='

-- A field of the message in another value. Never by cjson, which would destroy 63-bit integers.
local function set(message, field, value)
    return (string.gsub(message, '("' .. field .. '"%s*:%s*)%d+', '%1' .. value, 1))
end

-- What the station writes begins with these numbers, with room for larger ones (plan_json.h).
local function has_head(message)
    return string.sub(message, 1, 11) == '{"exec_id":' and string.sub(message, 28, 40) == ',"exec_time":'
           and string.find(message, '^,"plan_state":%d,', 51)
end

-- The message while this run is in hand. With a second result only its first bytes, which are to be
-- written over in their place.
local function running_head(message, exec_id, exec_time)
    if has_head(message) and #exec_id == 16 and #exec_time <= 10 then
        return string.format('{"exec_id":%s,"exec_time":%-10s,"plan_state":2', exec_id, exec_time), 65
    end
    message = set(message, 'exec_id', exec_id)
    message = set(message, 'exec_time', exec_time)
    return set(message, 'plan_state', 2)
end

-- A message as it is to be read: while a run is in hand it says so, even when it was not written yet.
local function as_running(message, held)
    local exec_id = held and string.match(held, '^(%d+)')
    if not exec_id or string.match(message, '"exec_id"%s*:%s*(%d+)') == exec_id then
        return message
    end
    local head, size = running_head(message, exec_id, string.format('%d', math.floor(exec_id / 1000000)))
    return size and head .. string.sub(message, size + 1) or head
end

local CLASS = 'plan:class'

-- A plan in a lane (lanes.lua) stands there by when it was due, and in the queue a multiple of this later, in
-- seconds: no schedule has such a length, so one that was moved since is known by it.
local LANE_UNIT = 61.803399

-- Where plans of this target and class stand; '' is none.
local function lane_key(station, class)
    return 'plan:lane:' .. station .. ':' .. (class == '' and '0:' or class)
end

local function stays_in_lane(score, since)
    local units = ((tonumber(score or '') or 0) - (tonumber(since or '') or 0)) / LANE_UNIT
    return since and score and units > 0.5 and math.abs(units - math.floor(units + 0.5)) < 0.00000003
end

-- A station that plan:attending has not seen for so many seconds is gone.
local ABSENT_S = 15

local HISTORY = 'plan:history'

-- The number of the last broadcast. When the counter was lost it goes on behind the history.
local function last_seq()
    local seq = own('HGET', 'plan:meta', 'seq')
    if not seq and redis.call('EXISTS', HISTORY) == 1 then
        local last = own('XREVRANGE', HISTORY, '+', '-', 'COUNT', 1)
        seq = last[1] and string.match(last[1][1], '^%d+')
    end
    return tonumber(seq or '') or 0
end

-- The epoch that a broadcast of this number is of: a new one when the numbers start anew.
local function epoch_of(seq, time)
    local epoch = seq > 1 and redis.call('HGET', 'plan:meta', 'epoch')
    return epoch or string.format('%x', time[1]) .. string.format('%05x', time[2])
end

-- The answers of a station's last calls, by their number: a ring, so that it is bounded. What this call
-- answered when it was asked before; nil: it was not.
local CALLS_RING = 512
local function call_kept(key, number)
    local kept = own('HGET', key, number % CALLS_RING)
    local readable, call = pcall(cmsgpack.unpack, kept or '')
    if readable and type(call) == 'table' and call[1] == number and type(call[2]) == 'table' then
        return call[2]
    end
end

-- A new key gets a long value for a moment: Redis makes a table of it then, where it would look through a
-- list of hundreds.
local function keep_call(key, number, answers)
    own('HSET', key, number % CALLS_RING, cmsgpack.pack({number, answers}))
    local left = redis.call('TTL', key)
    if left < 1800 then
        redis.call('EXPIRE', key, 3600)
    end
    if left == -1 then
        redis.call('HSET', key, 'long', string.rep(' ', 100))
        redis.call('HDEL', key, 'long')
    end
end

-- An entry of the history. What stands there of another type, or of a time whose numbers were higher, can
-- tell nobody what is missing: it goes.
local function add_entry(entry, ...)
    local answer = redis.pcall('XADD', HISTORY, entry, ...)
    if type(answer) == 'table' then
        own('XLEN', HISTORY)
        redis.call('DEL', HISTORY, 'plan:output')
        redis.call('XADD', HISTORY, entry, ...)
    end
end

-- Add an outcome to the history, at most `keep` of them: its entry is SEQ-0, or, when it is not
-- broadcast, SEQ-1, SEQ-2, ... behind the last broadcast. Answers the entry, nil when none is kept.
local function remember(seq, broadcast, station, id, ms, record, keep)
    if keep == '0' then
        return
    end
    local number = string.format('%d', seq)
    if broadcast then
        add_entry(number .. '-0', 'p', id, 's', station, 't', ms, 'r', record)
        return number .. '-0'
    end
    local answer = redis.pcall('XADD', HISTORY, number .. '-1', 'p', id, 's', station, 't', ms, 'r', record)
    if type(answer) == 'table' then
        answer = redis.pcall('XADD', HISTORY, number .. '-*', 'p', id, 's', station, 't', ms, 'r', record)
    end
    if type(answer) == 'table' then
        add_entry(number .. '-1', 'p', id, 's', station, 't', ms, 'r', record)
        return number .. '-1'
    end
    return answer
end

-- Add the outcomes of `count` broadcasts, whose numbers end with `last`. Several are one entry: an entry of each
-- would be half of all that Redis does for a run. `packed`: {plan, station, record} of each, as msgpack.
local function remember_all(last, count, ms, packed, keep)
    if keep == '0' then
        return
    elseif count == 1 then
        local one = cmsgpack.unpack(packed)[1]
        remember(last, true, one[2], one[1], ms, one[3], keep)
        return
    end
    -- What has numbers of these is of a time whose numbers were higher (add_entry).
    local first = string.format('%d-0', last - count + 1)
    if #own('XRANGE', HISTORY, first, '+', 'COUNT', 1) > 0 then
        redis.call('DEL', HISTORY, 'plan:output')
    end
    add_entry(string.format('%d-0', last), 't', ms, 'n', count, 'm', packed)
end

local function milliseconds(time)
    return string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end

-- Behind the last of them: the oldest go when there are too many. By their numbers, as an entry may hold
-- several, and by the entries, as those that were not broadcast have no numbers.
local function history_trim(keep, seq)
    if keep == '0' then
        return
    end
    redis.call('XTRIM', HISTORY, 'MAXLEN', '~', keep)
    local first = seq - keep + 1
    if first > 1 then
        redis.call('XTRIM', HISTORY, 'MINID', '~', string.format('%d', first))
    end
end

local function entry_field(fields, name)
    for i = 1, #fields, 2 do
        if fields[i] == name then
            return fields[i + 1]
        end
    end
    return ''
end

-- How many outcomes an entry of the history holds; of several the last has the entry's number. The station
-- puts some hundred together.
local function entry_size(fields)
    return math.min(math.max(tonumber(entry_field(fields, 'n')) or 1, 1), 1000)
end

local COUNT = 'plan:count'

-- The caller as a field of the count: the text of the message's own field, a long one by its sum.
local function caller_of(message)
    -- Found once, and read from there: a message may be large. What the station writes is found by the
    -- plain search; behind a title of that name the pattern goes on.
    local at = string.find(message, '"caller"', 1, true) or #message + 1
    if not string.find(message, '^"caller"%s*:', at) then
        at = string.find(message, '"caller"%s*:', at) or #message + 1
    end
    local text = string.match(message, '^"caller"%s*:%s*"([^"]*)"', at)
    local name = text and 't' .. text
                 or 'b' .. (string.match(message, '^"caller"%s*:%s*{%s*"b64"%s*:%s*"([^"]*)"', at) or '')
    return 'c:' .. (#name > 40 and redis.sha1hex(name) or name)
end

-- "STATION FIELD" taken apart, each text once.
local apart = {}
local function belongs_to(text)
    local both = apart[text]
    if not both then
        both = {string.match(text, '^([^ ]*) (.*)$')}
        apart[text] = both
    end
    return both[1], both[2]
end

-- How many plans there are of stations and callers: {field -> change}.
local function count(changes)
    for field, change in pairs(changes) do
        if (tonumber(own('HINCRBY', COUNT, field, string.format('%d', change))) or 0) <= 0 then
            redis.call('HDEL', COUNT, field)
        end
    end
end

local function add_up(changes, field, change)
    changes[field] = (changes[field] or 0) + change
end

-- Keys whose members or fields are collected, and changed by one command each.
local function collect(lists, key, value)
    local list = lists[key]
    if not list then
        list = {}
        lists[key] = list
    end
    list[#list + 1] = value
end

local function each_list(command, lists)
    for key, list in pairs(lists) do
        own(command, key, unpack(list))
    end
end

-- Members wait for their targets no more: {key -> members}.
local function wait_no_more(lists)
    for key, list in pairs(lists) do
        if redis.call('EXISTS', key) == 1 then
            own('ZREM', key, unpack(list))
        end
    end
end

-- Take plans out of the index, and out of the counts of their stations and callers. Of one whose message
-- is lost the caller is not known (''): his count is then too high until the last plan of all is gone.
local function index_remove(entries, stations, callers)
    local lists, of, changes = {}, {}, {}
    for i, entry in ipairs(entries) do
        local group = stations[i] .. ' ' .. callers[i]
        of[group] = of[group] or i
        collect(lists, group, entry)
    end
    for group, list in pairs(lists) do
        local i, removed = of[group], redis.call('ZREM', 'plan:ids', unpack(list))
        if removed > 0 then
            add_up(changes, 's:' .. stations[i], -removed)
            add_up(changes, callers[i], -removed)
        end
    end
    changes[''] = nil
    if next(changes) then
        count(changes)
        if redis.call('EXISTS', 'plan:ids') == 0 then
            redis.call('DEL', COUNT)
        end
    end
end

-- Delete what is kept of plans beside their messages, their places in the queue and their index entries.
local function forget(members, stations)
    local works, teams, waits, offers = {}, {}, {}, {}
    for i, member in ipairs(members) do
        works[i] = 'plan:work:' .. string.sub(member, 10)
        teams[i] = 'plan:team:' .. string.sub(member, 10)
        collect(waits, 'plan:wait:' .. stations[i], member)
        collect(offers, 'plan:offers:' .. stations[i], member)
    end
    own('HDEL', 'plan:run', unpack(members))
    redis.call('DEL', unpack(works))
    if redis.call('DEL', unpack(teams)) > 0 then
        wait_no_more(offers)
    end
    if redis.call('EXISTS', 'plan:told') == 1 then
        own('HDEL', 'plan:told', unpack(members))
    end
    if redis.call('EXISTS', 'plan:class') == 1 then
        own('HDEL', 'plan:class', unpack(members))
    end
    wait_no_more(waits)
end

local function entries(digits)
    return redis.call('ZRANGEBYLEX', 'plan:ids', '[' .. digits .. ':', '(' .. digits .. ';')
end

-- The plan with this id (16 hex digits): index entry, station, id, message key, message.
local function find(digits)
    for _, entry in ipairs(entries(digits)) do
        local station, id = entry_parse(entry)
        local message = id and redis.pcall('GET', message_key(station, id))
        if type(message) == 'string' then
            return entry, station, id, message_key(station, id), message
        end
    end
end

-- Clear away what plans with this id left whose message was deleted by hand.
local function clear_dead(digits)
    for _, entry in ipairs(entries(digits)) do
        local station, id = entry_parse(entry)
        if id and redis.call('EXISTS', message_key(station, id)) == 0 then
            index_remove({entry}, {station}, {''})
            redis.call('ZREM', 'plan:time:set', message_key(station, id))
            forget({message_key(station, id)}, {station})
        end
    end
end
