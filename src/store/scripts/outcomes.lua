-- The outcomes of an entry of the history: for history.lua and forget.lua, by --@include. A packed entry has several.

-- The answer to a command, nil after an error: a key of a wrong type counts as empty. The station's next write
-- replaces it.
local function read(...)
    local answer = redis.pcall(...)
    return (type(answer) ~= 'table' or not answer.err) and answer or nil
end

local function number(value)
    return string.format('%.0f', value)
end

local function field_of(fields, name)
    for i = 1, #fields, 2 do
        if fields[i] == name then
            return fields[i + 1]
        end
    end
    return ''
end

-- The numbers of the first and the last outcome of an entry. The last one of a packed entry has the entry's number.
-- Whatever an edit by hand left in `n`, they are whole numbers from 1 on.
local function span_of(entry)
    local last, sub = string.match(entry[1], '^(%d+)-(%d+)$')
    local size = sub == '0' and tonumber(field_of(entry[2], 'n')) or 1
    last = tonumber(last)
    size = size > 1 and math.floor(math.min(size, 1000, last)) or 1
    return last - size + 1, last
end

-- Marks of outcomes that were removed from a packed entry, which itself cannot be changed: "SEQ:T" with score SEQ. T
-- is the time of the entry, so that a mark does not hide an outcome that gets the same number later.
local FORGOT = 'plan:forgot'

local function forgot_mark(seq, ended)
    return number(seq) .. ':' .. ended
end

local function forgot_marks(entry)
    local marks, first, last = {}, span_of(entry)
    for _, mark in ipairs(read('ZRANGEBYSCORE', FORGOT, number(first), number(last)) or {}) do
        marks[mark] = true
    end
    return marks
end

local function is_outcome(row)
    return type(row) == 'table' and type(row[1]) == 'string' and type(row[2]) == 'string' and type(row[3]) == 'string'
end

-- The outcomes of an entry that were not removed, the oldest first: {entry, plan, target, ended in ms, record}; and
-- whether it is a packed entry.
local function outcomes_of(entry)
    local fields = entry[2]
    local ended, several = field_of(fields, 't'), field_of(fields, 'm')
    if several == '' then
        return {{entry[1], field_of(fields, 'p'), field_of(fields, 's'), ended, field_of(fields, 'r')}}, false
    end
    local readable, packed = pcall(cmsgpack.unpack, several)
    local outcomes, marks, first, last = {}, forgot_marks(entry), span_of(entry)
    local whole = readable and type(packed) == 'table' and #packed == last - first + 1 and entry[1] == number(last) .. '-0'
    for i, row in ipairs(whole and packed or {}) do
        local seq = first + i - 1
        if is_outcome(row) and not marks[forgot_mark(seq, ended)] then
            outcomes[#outcomes + 1] = {number(seq) .. '-0', row[1], row[2], ended, row[3]}
        end
    end
    return outcomes, true
end
