#!lua flags=allow-oom
-- Write a batch while memory is full, when Redis runs no MULTI: the same rows, if its owner is the one that was
-- found, and the batch before it the last.
-- KEYS  1 owner
-- ARGV  1 the token that was found, '' = none  2 the batch that was found, '' = none
--       then of each command: how many words it has, and these
-- Answers what EXEC does: the answer of each command, or nil: it is not the next batch.
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
