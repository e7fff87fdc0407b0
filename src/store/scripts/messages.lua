#!lua flags=allow-oom
-- The messages of these plans, until a page of 4 MiB is full; the last message may exceed it.
-- KEYS  the message keys
-- Answers {message or '', ...}, for the first of the keys
-- Cost  O(plans examined).
local BYTES_MAX = 4194304
local bytes, answer = 0, {}
for i, key in ipairs(KEYS) do
    local message = redis.pcall('GET', key)
    answer[i] = type(message) == 'string' and message or ''
    bytes = bytes + #answer[i]
    if bytes > BYTES_MAX then
        break
    end
end
return answer
