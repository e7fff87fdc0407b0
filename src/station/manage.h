// Management: requests with the command byte NONE, a COMMAND frame that names the word, and its
// arguments in ARG frames. Source: contract 3.2.
#pragma once

#include "front.h"

void manage_request (struct station *self, struct request *request);

// Whether a run of the plan is out. One of a plan that is out of the queue has no lease in Redis:
// it counts while this station hears of it, or as long as a lease would be.
bool manage_is_running (struct station *self, const struct plan *plan,
                        const struct store_loaded *answer);
