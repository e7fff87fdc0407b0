#!lua
-- Add outcomes that another station kept to the history, with the times at which they were written there. They
-- are not broadcast: their entries stand behind the last broadcast. Refused by Redis itself when memory is full.
-- KEYS  none
-- ARGV  1 most records kept in the history
--       then of each outcome  +1 station  +2 plan id  +3 ended in ms  +4 record
-- Answers how many.
-- Cost  O(outcomes).
--@include plan.lua
local seq = last_seq()
for at = 2, #ARGV, 4 do
    local station, id, ended, record = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    remember(seq, false, station, id, ended, record, ARGV[1])
end
history_trim(ARGV[1], seq)
return (#ARGV - 1) / 4
