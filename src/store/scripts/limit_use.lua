-- Part of claim.lua and team.lua: whether limits of targets and groups let another run begin. LEASE_S is how long a run
-- may be without a heartbeat.

local AT_ONCE = 500 -- members in a command, where there may be many
local NO_LIMIT = math.huge

local limits, blocked = {}, {} -- by "s:STATION" or "g:GROUP"
local limits_wait, wakes_us = false, nil -- for the end of a run; when a rate allows the next

-- "CONCURRENCY RATE BURST", each '' = none.
local function read_limit(name, text)
    local most, rate, burst = string.match(text, '^(%d*) ([%d.]*) (%d*)$')
    most, rate = tonumber(most or ''), tonumber(rate or '')
    most, rate = most and most > 0 and most, rate and rate > 0 and rate
    limits[name] = (most or rate) and {most = most, every_us = rate and 1000000 / rate,
                                       burst = tonumber(burst) or 1, taken = 0, runs = {}} or nil
end

-- Limits that were set; they replace those of the settings.
local function read_set_limits()
    local all = own('HGETALL', 'plan:limits')
    for i = 1, #all, 2 do
        read_limit(all[i], all[i + 1])
    end
end

-- Whether workers that are not late are at work on a run that they fetched.
local function is_at_work(member)
    local all = own('HGETALL', 'plan:team:' .. string.sub(member, 10))
    for i = 1, #all, 2 do
        local good, worker = pcall(cmsgpack.unpack, all[i + 1])
        if string.find(all[i], '^w:') and good and type(worker) == 'table' and worker[1] == 'running' -- team.lua
           and now_us / 1000 - (tonumber(worker[3]) or 0) <= (tonumber(worker[5]) or 0) * 1000 then
            return true
        end
    end
    return false
end

local function is_offered(run)
    return run and string.find(run, '!', 1, true)
end

-- Whether this is a run that its target, or workers, may be at.
local function is_out(member, run)
    if is_offered(run) then
        return is_at_work(member)
    end
    return run and string.find(run, '^%d') and not string.find(run, '?', 1, true)
end

local function station_of(member)
    return string.match(member, '^plan:msg:([%w_.-]+):')
end

local function in_lane(member, class)
    local station = station_of(member)
    return station and stays_in_lane(redis.call('ZSCORE', KEYS[1], member),
                                     own('ZSCORE', lane_key(station, class or ''), member))
end

-- The runs in flight of a target or a group, from those of all: when it is not known which they are. A lost run whose
-- plan is in a lane does not count. The member '' means that they are known.
local function find_runs(name, key)
    local all, members = own('HGETALL', KEYS[2]), {}
    local kind, wanted = string.match(name, '^(.):(.*)$')
    for i = 1, #all, 2 do
        local station = station_of(all[i])
        if station and (kind == 'g' or station == wanted) and is_out(all[i], all[i + 1]) then
            members[#members + 1] = all[i]
        end
    end
    own('ZADD', key, 0, '')
    for from = 1, #members, AT_ONCE do
        local part = {unpack(members, from, math.min(from + AT_ONCE - 1, #members))}
        for i, class in ipairs(own('HMGET', CLASS, unpack(part))) do
            local group = class and string.match(class, ':(.*)$')
            if (kind == 's' or group == wanted) and not in_lane(part[i], class) then
                redis.call('ZADD', key, now_us, part[i])
            end
        end
    end
    redis.call('EXPIRE', key, 3600)
end

-- Runs that have ended leave their places when these are asked for: so nothing that ends a run has to know.
-- One whose lease is over is lost; of one that is out of the queue there is no lease but from its beginning.
local function free_places(key)
    local members, gone = own('ZRANGE', key, 1, -1), {}
    for from = 1, #members, AT_ONCE do
        local part = {unpack(members, from, math.min(from + AT_ONCE - 1, #members))}
        local scores = redis.call('ZMSCORE', KEYS[1], unpack(part))
        for i, run in ipairs(own('HMGET', KEYS[2], unpack(part))) do
            local out = is_out(part[i], run)
            local lease_ends = out and (tonumber(scores[i] or '') or string.match(run, '^%d+') / 1000000 + LEASE_S)
            if not out or not is_offered(run) and lease_ends <= now_us / 1000000 then
                gone[#gone + 1] = part[i]
            end
        end
    end
    for from = 1, #gone, AT_ONCE do
        redis.call('ZREM', key, unpack(gone, from, math.min(from + AT_ONCE - 1, #gone)))
    end
end

local function places_of(name, limit)
    local key = 'plan:busy:' .. name
    if own('ZCARD', key) == 0 then
        find_runs(name, key)
    elseif limit.places then
        limit.freed = true
        free_places(key)
    end
    return limit.most - (redis.call('ZCARD', key) - 1) - limit.taken
end

-- plan:tokens holds the time up to which a name's rate is used up; with a burst it may be used that much ahead.
local function tokens_of(name, limit)
    local used = tonumber(own('HGET', 'plan:tokens', name) or '') or 0
    limit.used_us = math.min(math.max(used, now_us), now_us + limit.burst * limit.every_us)
    return math.floor((now_us - limit.used_us) / limit.every_us + limit.burst + 0.000001)
end

-- How many more runs the name may have now.
local function left_of(name)
    local limit = limits[name]
    if not limit then
        return NO_LIMIT
    elseif not limit.places then
        local places = limit.most and places_of(name, limit) or NO_LIMIT
        limit.tokens = limit.every_us and tokens_of(name, limit) or NO_LIMIT
        limit.places = places
    end
    if limit.places <= 0 and limit.most and not limit.freed then
        limit.places = places_of(name, limit)
    end
    local left = math.min(limit.places, limit.tokens)
    blocked[name] = left <= 0 or nil
    return left
end

local function use(name, count)
    local limit = limits[name]
    if limit then
        limit.places, limit.tokens = limit.places - count, limit.tokens - count
        limit.taken = limit.taken + count
    end
end

-- A run of these names begins: what is written of their limits.
local function charge(names, member, run)
    for _, name in ipairs(names) do
        local limit = limits[name]
        if limit then
            limit.runs[#limit.runs + 1] = run
            limit.runs[#limit.runs + 1] = member
        end
    end
end

local function write_limits()
    for name, limit in pairs(limits) do
        local count = #limit.runs / 2
        if count > 0 and limit.most then
            redis.call('ZADD', 'plan:busy:' .. name, unpack(limit.runs))
            redis.call('EXPIRE', 'plan:busy:' .. name, 3600)
        end
        if count > 0 and limit.every_us then
            limit.used_us = limit.used_us + count * limit.every_us
            redis.call('HSET', 'plan:tokens', name, string.format('%.0f', limit.used_us))
        end
    end
    for name in pairs(blocked) do
        local limit = limits[name]
        limits_wait = limits_wait or limit.places <= 0
        if limit.tokens <= 0 then
            local next_us = limit.used_us - (limit.burst - 1) * limit.every_us
            wakes_us = math.min(wakes_us or next_us, next_us)
        end
    end
end
