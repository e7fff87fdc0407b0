// A command as Redis reads it (RESP, an array of bulk strings), in one allocation. hiredis makes
// the same by a printf for each argument, which showed in profiles of calls with thousands of them.
#pragma once

#include "span.h"

// The arguments of `head`, then those of `rest`. Free the text.
char *resp_command (const struct span *head, size_t head_count, const struct span *rest,
                    size_t rest_count, size_t *ret_size);
