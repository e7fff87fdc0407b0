// Plan and run ids: 63-bit numbers, lower-case hex without padding wherever they are text.
// Source: plan document 2.1.
#pragma once

#include "span.h"

enum { IDENT_SIZE = 17 }; // 16 hex digits and the NUL

// 1 to 16 hex digits of either case, not 0, at most 7fffffffffffffff. False: `ret` is untouched.
bool ident_parse (struct span text, uint64_t *ret);

// The canonical text. Returns `out`.
const char *ident_text (uint64_t id, char out[IDENT_SIZE]);

// The REQUEST_ID for submitting a plan under this id: a resubmission of the same plan has the same
// bytes. Returns `out`.
enum { IDENT_REQUEST_SIZE = 38 };
const char *ident_request (const char *id, char out[IDENT_REQUEST_SIZE]);
