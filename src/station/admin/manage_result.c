// result: the complete last answers to the runs of a plan, from its target or each voter.
#include <stdlib.h>

#include "manage_private.h"
#include "reads.h"

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    enum store_result result = inquiry_check (inquiry, answer);
    if (result == STORE_DONE) {
        char *json = store_results_json (answer, inquiry->plan.id);
        manage_reply (self, inquiry->peer, inquiry->plan.id, json);
        free (json);
    }
    inquiry_end (inquiry, result, answer->error);
    station_resume (self);
}

static void ask_results (void *owner)
{
    struct inquiry *inquiry = owner;
    store_load_results (inquiry->station->store, inquiry->plan.id, on_loaded, inquiry);
}

void manage_result (struct station *self, struct request *request,
                    const struct arguments *arguments)
{
    struct inquiry *inquiry = inquiry_new (self, request, arguments->at[0]);
    if (inquiry)
        reads_start (self, inquiry->peer, ask_results, inquiry);
}
