-- The outcomes of an entry of the history; embed.py puts it behind plan.lua where a script says
-- --@include outcomes.lua.

-- Outcomes that were taken out of an entry of several, which itself cannot be changed: "SEQ:T", T the time of the
-- entry, so that a number that is given anew hides nothing; score = SEQ.
local FORGOT = 'plan:forgot'
local some_forgot = own('ZCARD', FORGOT) > 0

-- Of an entry of several: the numbers of the first and the last.
local function entry_span(entry)
    local last = tonumber(string.match(entry[1], '^%d+'))
    return last - entry_size(entry[2]) + 1, last
end

local function forgot_mark(seq, ended)
    return string.format('%.0f:%s', seq, ended)
end

local function forgot_marks(entry, ended)
    local marks = {}
    if some_forgot then
        local first, last = entry_span(entry)
        for _, mark in ipairs(redis.call('ZRANGEBYSCORE', FORGOT, string.format('%.0f', first),
                                         string.format('%.0f', last))) do
            marks[mark] = true
        end
    end
    return marks
end

-- The outcomes of an entry that are kept, the oldest first: {entry, plan, station, ended in ms, record}; and
-- whether it is one of several, of which only the last has the entry's number.
local function outcomes_of(entry)
    local name, fields = entry[1], entry[2]
    local ended, several = entry_field(fields, 't'), entry_field(fields, 'm')
    if several == '' then
        return {{name, entry_field(fields, 'p'), entry_field(fields, 's'), ended, entry_field(fields, 'r')}}, false
    end
    local readable, packed = pcall(cmsgpack.unpack, several)
    local outcomes, first, marks = {}, entry_span(entry), forgot_marks(entry, ended)
    for i, row in ipairs(readable and type(packed) == 'table' and packed or {}) do
        local seq = first + i - 1
        if type(row) == 'table' and not marks[forgot_mark(seq, ended)] then
            outcomes[#outcomes + 1] = {string.format('%.0f-0', seq), row[1], row[2], ended, row[3]}
        end
    end
    return outcomes, true
end

-- Marks of what stands before the first entry, or behind the last broadcast, mean nothing any more.
local function forgot_trim()
    local oldest = some_forgot and own('XRANGE', HISTORY, '-', '+', 'COUNT', 1)[1]
    if oldest then
        redis.call('ZREMRANGEBYSCORE', FORGOT, '-inf', string.format('(%.0f', (entry_span(oldest))))
        redis.call('ZREMRANGEBYSCORE', FORGOT, string.format('(%.0f', last_seq()), '+inf')
    elseif some_forgot then
        redis.call('DEL', FORGOT)
    end
end
