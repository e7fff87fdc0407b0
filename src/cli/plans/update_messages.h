// A changed action of a plan: the given frames replace the stored ones of their types.
#pragma once

#include "order.h"

// Set `messages` of the fields that change, if frames are given. 0, or -1 with a reason.
int update_messages (const struct order *order, const json_t *plan, json_t *fields,
                     struct reason *reason);
