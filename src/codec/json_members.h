// The members of a JSON object as they are written, so that values are copied from text to text
// without a tree.
#pragma once

#include "json_scan.h"

struct json_member {
    struct span name; // without its quotes; escapes are not decoded
    struct span value;
};

struct json_members {
    struct json_member *at;
    size_t count, room;
    struct json_member initial[48]; // `at` points here unless there are more members
};

// Consume the next value, an object. Its names and values are borrowed from the text; names may be
// duplicate. False: the value is no object, or invalid. Release the members in both cases.
bool json_members_take (struct json_members *self, struct json_scan *scan);

// Free the members; their names and values stay valid.
void json_members_release (struct json_members *self);

// The value of the first member of this name; empty: there is none.
struct span json_members_get (const struct json_members *self, const char *name);
