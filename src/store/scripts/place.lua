-- Places in a sorted set: for page.lua and ordered.lua, by --@include. Scores are Unix seconds, places microseconds.

-- Whether a text sorts after another by bytes, as in Redis; Lua's > compares by the server's locale.
local function sorts_after(text, other)
    for i = 1, math.min(#text, #other) do
        local byte, other_byte = string.byte(text, i), string.byte(other, i)
        if byte ~= other_byte then
            return byte > other_byte
        end
    end
    return #text > #other
end

-- A score in microseconds, as in reply_score_us of store_reply.c; after an edit by hand it may be any number.
local function score_us(score)
    local us = math.min(math.max(score, 0), 253402300799) * 1000000
    local whole = math.floor(us)
    return us - whole >= 0.5 and whole + 1 or whole
end

-- Whether the member with this rank comes after a place or, with `at`, is at it.
local function is_after_place(key, rank, us, member, at)
    local found = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
    local found_us = score_us(found[2])
    return found_us > us or found_us == us and member ~= '' and (sorts_after(found[1], member) or at and found[1] == member)
end

-- The first rank after a place or, with `at`, at or after it. The place's member may have left the set.
local function rank_after(key, us, member, at)
    local first, last = 0, redis.call('ZCARD', key)
    while first < last do
        local middle = math.floor((first + last) / 2)
        if is_after_place(key, middle, us, member, at) then
            last = middle
        else
            first = middle + 1
        end
    end
    return first
end
