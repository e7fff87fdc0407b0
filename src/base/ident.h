// Plan and run ids: 63-bit numbers, lower-case hex without padding wherever they are text.
// Source: plan document 2.1.
#pragma once

#include "span.h"

enum { IDENT_SIZE = 17 }; // 16 hex digits and the NUL

// 1 to 16 hex digits of either case, not 0, at most 7fffffffffffffff. False: `ret` is untouched.
bool ident_parse (struct span text, uint64_t *ret);

// The canonical text. Returns `out`.
const char *ident_text (uint64_t id, char out[IDENT_SIZE]);
