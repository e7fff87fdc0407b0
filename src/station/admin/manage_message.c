// message: a plan as it is stored, with the progress of its run and its last failures. result: the
// complete last answers to its runs, from its target or each voter.
#include <stdlib.h>

#include "json.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "plan_json.h"
#include "plan_public.h"
#include "runs.h"

// Find the place of the plan among its iterations, which is derived and never stored. False: it has
// none.
static bool find_iteration (uint64_t id, struct span message, struct run_place *ret)
{
    struct reason reason;
    // Most plans have no iterations: do not parse their messages, which may be large.
    if (!message.size || (!memmem (message.data, message.size, "\"cycle\"", 7) &&
                          !memmem (message.data, message.size, "\"iteration\"", 11)))
        return false;
    struct plan *plan = plan_from_stored_json (id, message, &reason);
    int64_t cycle = plan ? policy_cycle (plan->policy) : 0;
    if (cycle)
        *ret = policy_run_place (plan_occurrence (plan).used, cycle);
    plan_destroy (&plan);
    return cycle != 0;
}

// The members to append to the stored object: `,"progress":"...",...}`. The caller frees it; NULL =
// none.
static char *extra_members (struct station *self, uint64_t id, const struct store_loaded *answer,
                            json_t *failures)
{
    const struct active_run *active =
        answer->running ? runs_find_run (self, id, answer->exec_id) : NULL;
    struct run_place place;
    json_t *object = json_object ();
    if (active && active->progress && *active->progress)
        json_object_set_new (object, "progress", json_string (active->progress));
    if (find_iteration (id, answer->message, &place)) {
        json_object_set_new (object, "current_iteration", json_integer (place.iteration));
        json_object_set_new (object, "current_cycle", json_integer (place.cycle));
    }
    if (json_array_size (failures))
        json_object_set (object, "failures", failures);
    // Times are seconds with milliseconds: 13 digits suffice until the year 2286.
    char *text = json_object_size (object)
                     ? json_dumps (object, JSON_COMPACT | JSON_REAL_PRECISION (13))
                     : NULL;
    if (text)
        text[0] = ','; // it replaces the opening brace
    json_decref (object);
    return text;
}

// The stored object with masked URLs of callbacks. The caller frees it.
static char *masked_message (struct span message, bool is_callback)
{
    struct reason ignored;
    json_t *stored = json_read_object (message, &ignored);
    plan_mask_stored (stored);
    if (is_callback)
        plan_mask_callback (stored);
    char *text = stored ? json_write (stored) : memory_text ("{}");
    json_decref (stored);
    return text;
}

// The stored object with more members; the caller frees it. URLs of callbacks are masked except for
// users with the role manage; only for that is the stored object parsed, as it may be large.
static char *append_members (struct station *self, const char *user, uint64_t id,
                             const struct store_loaded *answer, json_t *failures)
{
    static const char callback[] = ",\"callback\":";
    struct span message = answer->message;
    bool is_callback = station_is_callbacks (self, answer->station);
    bool masks =
        message.size &&
        (is_callback || memmem (message.data, message.size, callback, sizeof callback - 1)) &&
        !permits_roles (self, user, CURVE_ROLE_MANAGE);
    char *members = extra_members (self, id, answer, failures), *masked = NULL;
    if (masks)
        message = span_text (masked = masked_message (message, is_callback));
    size_t size = message.size, more = members ? strlen (members) : 0;
    char *json = memory_new (size + more + 1);
    if (size)
        memcpy (json, message.data, size);
    free (masked);
    char *brace = members ? memrchr (json, '}', size) : NULL;
    if (brace)
        memcpy (brace, members, more + 1);
    free (members);
    return json;
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    struct station *self = inquiry->station;
    enum store_result result = inquiry_check (inquiry, answer);
    if (result == STORE_DONE) {
        json_t *failures = store_failures_json (answer);
        char *json = append_members (self, inquiry->peer->user, inquiry->plan.id, answer, failures);
        manage_reply (self, inquiry->peer, inquiry->plan.id, json);
        json_decref (failures);
        free (json);
    }
    inquiry_end (inquiry, result, answer->error);
}

static void ask_message (void *owner)
{
    struct inquiry *inquiry = owner;
    store_load_failures (inquiry->station->store, inquiry->plan.id, on_loaded, inquiry);
}

int manage_message (struct station *self, struct request *request)
{
    return inquiry_read (self, request, ask_message);
}

// -- result

static void on_results_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    enum store_result result = inquiry_check (inquiry, answer);
    if (result == STORE_DONE) {
        char *json = store_results_json (answer, inquiry->plan.id);
        manage_reply (inquiry->station, inquiry->peer, inquiry->plan.id, json);
        free (json);
    }
    inquiry_end (inquiry, result, answer->error);
}

static void ask_results (void *owner)
{
    struct inquiry *inquiry = owner;
    store_load_results (inquiry->station->store, inquiry->plan.id, on_results_loaded, inquiry);
}

int manage_result (struct station *self, struct request *request)
{
    return inquiry_read (self, request, ask_results);
}
