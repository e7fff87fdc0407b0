// Plan and run ids: 63-bit numbers; as text, lower-case hex without padding.
// Source: plan document 2.1.
#pragma once

#include "span.h"

enum { IDENT_SIZE = 17 }; // 16 hex digits and the NUL

// Parse 1 to 16 hex digits of either case: not 0, at most 7fffffffffffffff. False: invalid, `ret`
// is unchanged.
bool ident_parse (struct span text, uint64_t *ret);

// The id as text, in lower case without padding. Returns `out`.
const char *ident_text (uint64_t id, char out[IDENT_SIZE]);

// The REQUEST_ID with which to submit a plan under this id, given as text. It depends only on the
// id, so a resubmission has the same one. Returns `out`.
enum { IDENT_REQUEST_SIZE = 38 };
const char *ident_request (const char *id, char out[IDENT_REQUEST_SIZE]);
