#!lua flags=allow-oom
-- Enter a station in the list of stations present, also while memory is full.
-- KEYS  1 attending
-- ARGV  1 the station's instance  2 the time, a blank and the station's schema
-- Answers as HSET does.
-- Cost  O(1).
return redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
