#!lua flags=allow-oom
-- Plans that wait for a target are due at once: all of them, as when it connects; or only those that
-- were never handed over to it, as another station may not reach it.
-- KEYS  1 time set  2 waiting for the target
-- ARGV  1 most plans  2 1 = only those that could not be sent
-- Answers the number of plans taken from the waiting: as many as asked for = there may be more.
-- Cost  O(log n) a plan.
--@include plan.lua
local time = redis.call('TIME')
local now = string.format('%.6f', time[1] + time[2] / 1000000)
local SEND_ERROR = '140'
local woken = 0

local function could_not_be_sent(member)
    local message = redis.pcall('GET', member)
    return type(message) == 'string' and string.match(message, '"last_state"%s*:%s*(%d+)') == SEND_ERROR
end

if ARGV[2] == '1' then
    for _, member in ipairs(own('ZRANDMEMBER', KEYS[2], ARGV[1])) do
        if could_not_be_sent(member) then
            redis.call('ZREM', KEYS[2], member)
            redis.call('ZADD', KEYS[1], 'XX', 'LT', now, member)
            woken = woken + 1
        end
    end
    return woken
end
local first = own('ZPOPMIN', KEYS[2], ARGV[1])
for i = 1, #first, 2 do
    redis.call('ZADD', KEYS[1], 'XX', 'LT', now, first[i])
end
return #first / 2
