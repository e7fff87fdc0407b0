-- Places in a sorted set: for page.lua and ordered.lua, by --@include. Scores are Unix seconds, places microseconds.

-- By their bytes, as Redis sorts them: Lua compares as the server's locale does.
local function sorts_behind(text, other)
    for i = 1, math.min(#text, #other) do
        local byte, other_byte = string.byte(text, i), string.byte(other, i)
        if byte ~= other_byte then
            return byte > other_byte
        end
    end
    return #text > #other
end

-- As reply_score_us of store_reply.c has it: a score that somebody edited may be anything.
local function score_us(score)
    local us = math.min(math.max(score, 0), 253402300799) * 1000000
    local whole = math.floor(us)
    return us - whole >= 0.5 and whole + 1 or whole
end

-- Whether the member of this rank comes after a place; with `at`: or is at it.
local function is_behind(key, rank, us, member, at)
    local found = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
    local found_us = score_us(found[2])
    return found_us > us or found_us == us and member ~= '' and (sorts_behind(found[1], member) or at and found[1] == member)
end

-- The first rank after a place, which its member may have left; with `at`: or at it.
local function rank_behind(key, us, member, at)
    local first, last = 0, redis.call('ZCARD', key)
    while first < last do
        local middle = math.floor((first + last) / 2)
        if is_behind(key, middle, us, member, at) then
            last = middle
        else
            first = middle + 1
        end
    end
    return first
end
