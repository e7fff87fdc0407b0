#!lua flags=allow-oom
-- Say that a station is there, also while memory is full.
-- KEYS  1 attending
-- ARGV  1 the station  2 when, and its schema
-- Answers as HSET does.
-- Cost  O(1).
return redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
