-- What the scripts share; embed.py puts it where a script says --@include plan.lua.

-- A command on a key of the station's own. What somebody put there of another type is replaced, and
-- a station tells it.
local own
function own(command, key, ...)
    local answer = redis.pcall(command, key, ...)
    if type(answer) == 'table' and answer.err and string.find(answer.err, 'WRONGTYPE', 1, true) then
        redis.call('DEL', key)
        own('HSET', 'plan:meta', 'wrong', key)
        return redis.call(command, key, ...)
    elseif type(answer) == 'table' and answer.err then
        error(answer.err)
    end
    return answer
end

-- The queue and the index, of which a script uses many commands: looked at before the first, so that
-- no script fails after half of its writes.
own('ZCARD', 'plan:time:set')
own('ZCARD', 'plan:ids')

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
    return string.match(message, '"revision"%s*:%s*(%d+)') or '0'
end

-- A field of the message in another value. Never by cjson, which would destroy 63-bit integers.
local function set(message, field, value)
    return (string.gsub(message, '("' .. field .. '"%s*:%s*)%d+', '%1' .. value, 1))
end

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

-- Add an outcome to the history, at most `keep` of them: its entry is SEQ-0, or, when it is not
-- broadcast, SEQ-1, SEQ-2, ... behind the last broadcast.
local function remember(seq, broadcast, station, id, time, record, keep)
    if keep == '0' then
        return
    end
    local ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
    local fields = {'p', id, 's', station, 't', ms, 'r', record}
    local number = string.format('%.0f', seq)
    for _, entry in ipairs(broadcast and {number .. '-0'} or {number .. '-1', number .. '-*'}) do
        local answer = redis.pcall('XADD', HISTORY, 'MAXLEN', '~', keep, entry, unpack(fields))
        if type(answer) ~= 'table' then
            return
        end
    end
    -- Of another type, or of a time whose numbers were higher: it can tell nobody what is missing.
    own('XLEN', HISTORY)
    redis.call('DEL', HISTORY)
    redis.call('XADD', HISTORY, number .. (broadcast and '-0' or '-1'), unpack(fields))
end

local COUNT = 'plan:count'

-- The caller as a field of the count: the text of the message's own field, a long one by its sum.
local function caller_of(message)
    -- Found once, and read from there: a message may be large.
    local at = string.find(message, '"caller"%s*:') or #message + 1
    local text = string.match(message, '^"caller"%s*:%s*"([^"]*)"', at)
    local name = text and 't' .. text
                 or 'b' .. (string.match(message, '^"caller"%s*:%s*{%s*"b64"%s*:%s*"([^"]*)"', at) or '')
    return 'c:' .. (#name > 40 and redis.sha1hex(name) or name)
end

local function count_field(field, change)
    if (tonumber(own('HINCRBY', COUNT, field, change)) or 0) <= 0 then
        redis.call('HDEL', COUNT, field)
    end
end

-- Put a plan into the index or take it out; how many there are of its station and of its caller is
-- counted with it. Of one whose message is lost the caller is not known: his count is then too high
-- until the last plan of all is gone.
local function index_add(entry, station, message)
    if redis.call('ZADD', 'plan:ids', 0, entry) == 1 then
        count_field('s:' .. station, 1)
        count_field(caller_of(message), 1)
    end
end

local function index_remove(entry, station, message)
    if redis.call('ZREM', 'plan:ids', entry) == 1 and station then
        count_field('s:' .. station, -1)
        if message then
            count_field(caller_of(message), -1)
        end
        if redis.call('EXISTS', 'plan:ids') == 0 then
            redis.call('DEL', COUNT)
        end
    end
end

-- Delete what is kept of a plan beside its message, its place in the queue and its index entry.
local function forget(station, id)
    local member = message_key(station, id)
    own('HDEL', 'plan:run', member)
    own('HDEL', 'plan:told', member)
    own('SREM', 'plan:wait:' .. station, member)
    redis.call('DEL', 'plan:work:' .. station .. ':' .. id)
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
            index_remove(entry, station)
            redis.call('ZREM', 'plan:time:set', message_key(station, id))
            forget(station, id)
        end
    end
end
