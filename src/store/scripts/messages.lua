#!lua flags=allow-oom
-- The messages of these plans, as far as they fit into a page: 4 MiB, and one more.
-- KEYS  the message keys
-- Answers {message or '', ...}, for the first of them
-- Cost  O(plans looked at).
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
