// The public form of a stored plan, made from its text, which an operator may have edited: without
// `messages`, the fields in the order of the public text (plan_json.h) and then all others.
#pragma once

#include "json.h"
#include "json_text.h"

// Append the public form as the next item of an array, with COMMAND as `command` if that has at
// most `command_max` bytes. The caller closes the object. `id` is the one in the plan's Redis key.
// False: the text is invalid, nothing is appended.
bool plan_write_public (uint64_t id, struct span stored, size_t command_max,
                        struct json_text *text);

// The fast path of plan_write_public, public for tests: it copies member by member without a tree.
// False: a member has to be converted, or the text is unusual; nothing is appended.
bool plan_copy_public (uint64_t id, struct span stored, size_t command_max, struct json_text *text);

// The slow path of plan_write_public, public for tests: it reads any text. Both paths write a text
// that both can convert alike. False: the text is invalid.
bool plan_convert_public (uint64_t id, struct span stored, size_t command_max,
                          struct json_text *text);

// Mask the URLs of a stored plan's callback after the host, also in its PLAN frame: not every
// reader may know them.
void plan_mask_stored (json_t *stored);

// Mask the URL of a stored plan that is itself a callback: its first ARG frame.
void plan_mask_callback (json_t *stored);
