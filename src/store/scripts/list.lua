#!lua flags=allow-oom
-- A page of plans in the order of their ids.
-- KEYS  1 index
-- ARGV  1 the last id of the page before, 16 hex digits, '' = from the start  2 most plans
-- Answers {index entry, message, index entry, message, ...}
-- Cost  O(log n + page).
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1] .. ';'
local page = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, ARGV[2])
local answer = {}
for _, entry in ipairs(page) do
    local station = string.sub(entry, 18)
    local id = string.match(string.sub(entry, 1, 16), '^0*(%x+)$')
    local message = redis.pcall('GET', 'plan:msg:' .. station .. ':' .. id)
    answer[#answer + 1] = entry
    answer[#answer + 1] = type(message) == 'string' and message or ''
end
return answer
