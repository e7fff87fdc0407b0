-- Plans of a page, read in batches: for list.lua and ordered.lua, by --@include.

-- How many plans the next batch has: as long as they are small, twice as many, as a batch is read as a whole.
local function next_batch(size, bytes)
    local SIZE_MAX, SMALL = 32, 65536
    return bytes > SMALL and 1 or math.min(2 * size, SIZE_MAX)
end

-- The runs of these members, and their messages; false where there is none.
local function read_runs(key, members)
    local runs = #members > 0 and redis.pcall('HMGET', key, unpack(members)) or {}
    return runs.err and {} or runs
end

local function read_messages(members)
    return #members > 0 and redis.call('MGET', unpack(members)) or {}
end
