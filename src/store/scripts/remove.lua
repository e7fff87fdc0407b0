#!lua flags=allow-oom
-- Delete a plan, in whatever state it is.
-- KEYS  1 time set  2 index
-- ARGV  1 id, 16 hex digits  2 the station it must be of, '' = any
-- Answers the station it was of, or 0: there was none.
-- Cost  O(log n).
--@include plan.lua
local entry, station, _, member, message = find(ARGV[1])
clear_dead(ARGV[1])
if not entry or ARGV[2] ~= '' and ARGV[2] ~= station then
    return 0
end
index_remove({entry}, {station}, {caller_of(message)})
redis.call('ZREM', KEYS[1], member)
redis.call('DEL', member)
forget({member}, {station})
return station
