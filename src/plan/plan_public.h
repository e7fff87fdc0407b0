// The public form of a stored plan, made from its text, which an operator may have edited: without
// `messages`, the fields in the order of the public text (plan_json.h) and then all others.
#pragma once

#include "json.h"
#include "json_text.h"

// Append it as the next item of an array, with COMMAND as `command` if that has at most
// `command_max` bytes. The object is left open. False: the text is invalid, nothing is appended.
bool plan_write_public (uint64_t id, struct span stored, size_t command_max,
                        struct json_text *text);

// The two ways of doing it, separate for tests. The first copies member by member without a tree;
// false: a member has to be converted, or the text is unusual. The second reads any text, and
// writes the same as the first.
bool plan_copy_public (uint64_t id, struct span stored, size_t command_max, struct json_text *text);
bool plan_convert_public (uint64_t id, struct span stored, size_t command_max,
                          struct json_text *text);

// Mask what not everybody may read: the URLs of the callback, all but the host, and the PLAN frame,
// which contains them.
void plan_mask_stored (json_t *stored);

// The same for a plan that is itself a callback: its first argument is the URL.
void plan_mask_callback (json_t *stored);
