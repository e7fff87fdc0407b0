#!lua flags=allow-oom
-- The target stations that were added while the station ran.
-- KEYS  1 stations: a hash of name -> what was added
-- ARGV  none to read them, a name to take it out, a name and a text to put it in
-- Answers {name, text, name, text, ...} with all of them, after the change.
-- Cost  O(stations).
--@include plan.lua
if #ARGV == 1 then
    own('HDEL', KEYS[1], ARGV[1])
elseif #ARGV == 2 then
    own('HSET', KEYS[1], ARGV[1], ARGV[2])
end
if #ARGV > 0 then
    -- By which the other stations know that there is something to read.
    own('HINCRBY', 'plan:meta', 'stations', 1)
end
return own('HGETALL', KEYS[1])
