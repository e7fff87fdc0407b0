#!lua flags=allow-oom
-- Write a batch while memory is full and Redis rejects MULTI, if token and batch number in the owner key are
-- unchanged since they were read. This check replaces WATCH.
-- KEYS  1 owner
-- ARGV  1 the token that was read, '' = none  2 the batch number that was read, '' = none
--       then for each command: its number of words, and the words
-- Answers as EXEC does: the answer of each command, or nil: nothing was written.
-- Cost  that of the commands.
local found = redis.call('HMGET', KEYS[1], 'token', 'batch')
if (found[1] or '') ~= ARGV[1] or (found[2] or '') ~= ARGV[2] then
    return false
end
local answers, at = {}, 3
while at <= #ARGV do
    answers[#answers + 1] = redis.pcall(unpack(ARGV, at + 1, at + ARGV[at]))
    at = at + ARGV[at] + 1
end
return answers
