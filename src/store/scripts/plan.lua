-- What the scripts share; embed.py puts it where a script says --@include plan.lua.

-- A command on a key of the station's own. What somebody put there of another type is replaced.
local function own(command, key, ...)
    local answer = redis.pcall(command, key, ...)
    if type(answer) == 'table' and answer.err and string.find(answer.err, 'WRONGTYPE', 1, true) then
        redis.call('DEL', key)
        return redis.call(command, key, ...)
    elseif type(answer) == 'table' and answer.err then
        error(answer.err)
    end
    return answer
end

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
            redis.call('ZREM', 'plan:ids', entry)
            redis.call('ZREM', 'plan:time:set', message_key(station, id))
            forget(station, id)
        end
    end
end
