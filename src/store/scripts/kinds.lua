#!lua flags=allow-oom
-- The kinds of plans: under a name, the fields that plans of that kind have unless they say otherwise.
-- KEYS  1 kinds: a hash of name -> JSON
-- ARGV  1 list, or get, put or remove  2 name  3 the JSON to put in  4 most kinds that are kept
-- Answers {name, JSON, ...} of what was asked for after the change; get: of that one, {} = there is none;
--         put: {} = the quota is exceeded. remove: {name, ''} it was there, {} it was not.
-- Cost  O(kinds) for list and put, else O(1).
--@include plan.lua
local word, name, json = ARGV[1], ARGV[2], ARGV[3]
if word == 'list' then
    return own('HGETALL', KEYS[1])
elseif word == 'remove' then
    return own('HDEL', KEYS[1], name) == 1 and {name, ''} or {}
elseif word == 'put' then
    if own('HEXISTS', KEYS[1], name) == 0 and own('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
        return {}
    end
    own('HSET', KEYS[1], name, json)
end
json = own('HGET', KEYS[1], name)
return json and {name, json} or {}
