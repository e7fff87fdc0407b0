// Errors as RFC 9457 has them. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"

// `code`: the name of the error in lower case; help.html explains each. `root`: the prefix of
// all paths. `detail` may be empty. With the name of a field of a plan in front of it, that field
// is pointed to.
json_t *problem_new (const char *root, int status, const char *code, const char *detail);

// The errors of a definition, {path, reason}, as a problem lists them; NULL: there are none.
json_t *problem_errors (const json_t *errors);

// The error of one field at the top of a body, as a problem lists it.
json_t *problem_field (const char *name, const char *detail);

// The text of an HTTP status.
const char *problem_title (int status);

// The HTTP status of a rejection by the station. `unsafe`: the method changes something.
int problem_status (uint8_t station_status, bool unsafe);

// The HTTP status of BUSY. With a reason that ends with "again" or "again in N ms" it is temporary:
// 503, and `ret_after_s` is when to retry. Else 409 if something is removed (`removes`), which is
// in use; or 507: a quota is exhausted.
int problem_busy (const char *reason, bool removes, int *ret_after_s);
