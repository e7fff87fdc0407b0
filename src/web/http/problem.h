// Errors in the format of RFC 9457. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"

// Make a problem document, a new object. `code`: the name of the error in lower case; help.html
// explains each. `root`: the prefix of all paths. `detail` may be empty. If it starts with the name
// of a field of a plan, the problem has a pointer to that field.
json_t *problem_new (const char *root, int status, const char *code, const char *detail);

// Convert the errors of a definition, {path, reason}, to the `errors` of a problem; NULL: there are
// none. A new object.
json_t *problem_errors (const json_t *errors);

// Make the `errors` of a problem for one field at the top of a body. A new object.
json_t *problem_field (const char *name, const char *detail);

// The HTTP status of a rejection by the station. `unsafe`: the method changes something.
int problem_status (uint8_t station_status, bool unsafe);

// The HTTP status of BUSY. A reason that ends with "again" or "again in N ms" is temporary: 503,
// and `ret_after_s` is when to retry. Otherwise 409 for a removal (`removes`) of something in use,
// or 507 for an exhausted quota.
int problem_busy (const char *reason, bool removes, int *ret_after_s);
