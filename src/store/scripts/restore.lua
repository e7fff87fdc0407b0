#!lua
-- Add outcomes that another station kept to the history, with the times at which they were written there. They
-- are not broadcast: their entries stand behind the last broadcast. Refused by Redis itself when memory is full.
-- KEYS  none
-- ARGV  1 most records kept in the history
--       then of each outcome  +1 station  +2 plan id  +3 ended in ms  +4 record  +5 what the run wrote or ''
-- Answers how many.
-- Cost  O(outcomes).
--@include plan.lua
local seq = last_seq()
for at = 2, #ARGV, 5 do
    local station, id, ended, record, output = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    local name = remember(seq, false, station, id, ended, record, ARGV[1])
    if name and output ~= '' then
        redis.pcall('XADD', 'plan:output', name, 't', ended, 'o', output)
    end
end
history_trim(ARGV[1], seq)
return (#ARGV - 1) / 5
