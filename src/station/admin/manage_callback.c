// callback redeliver: resend a failed callback, as reset does. callback test: send a callback
// without a run, to show what the receiver gets; sender, signature and rules are the same as for
// all others. Source: proto 9.13.
#include <stdlib.h>

#include "callback.h"
#include "callback_book.h"
#include "clock.h"
#include "flow_book.h"
#include "json.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "publish.h"
#include "targets.h"

enum { TEST_INTERVAL_US = 1000000 }; // minimum between two tests

struct callback_test {
    struct station *station;
    struct peer *peer;
    struct plan *callback;
};

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct callback_test *self = owner;
    struct station *station = self->station;
    if (result == STORE_DONE) {
        manage_reply (station, self->peer, self->callback->id, NULL);
        publish_added (station, self->callback);
    } else {
        reply_refuse_store (station, self->peer, result, error);
    }
    plan_destroy (&self->callback);
    free (self);
}

// A plan of the target with nothing but this callback, which is never stored. The caller owns it;
// NULL: invalid, with a reason.
static struct plan *make_test_plan (struct span target, json_t *callback, struct reason *reason)
{
    json_t *fields = json_pack ("{s:O}", "callback", callback);
    struct policy *policy = policy_read (fields, reason);
    json_decref (fields);
    if (!policy)
        return NULL;
    struct plan *plan = plan_new (target.size);
    memcpy (plan->store, target.data, target.size);
    plan->station = span_of (plan->store, target.size);
    plan->description = span_text ("test");
    plan_take_policy (plan, policy);
    return plan;
}

// Check whether a test may be sent for this target now. 0, or the error with its reason.
static int check_callback_target (struct station *self, const struct request *request,
                                  struct span target, struct reason *reason)
{
    int64_t now_us = clock_mono_us ();
    if (station_is_callbacks (self, target))
        return permit_callback_denied (reason);
    if (!station_target (self, target) && !flow_book_has (self, target))
        return target_not_found (self, request->peer.user, "target", target, reason);
    if (callback_book_full (self, target))
        return reason_error (reason, ZPLAN_EBUSY, "callback: too many of this target are kept");
    if (self->callback_tested_us && now_us - self->callback_tested_us < TEST_INTERVAL_US)
        return reason_error (reason, ZPLAN_EBUSY, "callback test: one a second; try again");
    if (targets_ensure_pull (self, self->settings->callback_target, reason))
        return ZPLAN_EARGUMENT;
    self->callback_tested_us = now_us;
    return 0;
}

static int send_test_callback (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct span target = request->args[1];
    int rc = permit_station (self, request->peer.user, target, reason);
    if (rc)
        return rc;
    json_t *object = json_read_object (request->args[2], reason);
    struct plan *plan = object ? make_test_plan (target, object, reason) : NULL;
    json_decref (object);
    rc = plan ? check_callback_target (self, request, target, reason) : ZPLAN_EARGUMENT;
    struct plan *callback = rc ? NULL : callback_test_plan (self, plan);
    plan_destroy (&plan);
    if (rc)
        return rc;
    struct callback_test *callback_test = memory_new (sizeof *callback_test);
    *callback_test = (struct callback_test){self, peer_keep (self, request), callback};
    store_submit_internal (self->store, callback_test->callback, STORE_ID_MADE);
    callback_book_add (self, callback_test->callback);
    store_call_when_written (self->store, on_written, callback_test);
    return 0;
}

int manage_callback (struct station *self, struct request *request)
{
    static const struct admin_subcommand subcommands[] = {
        {"test", 3, CURVE_ROLE_MANAGE, send_test_callback},
        {"redeliver", 2, CURVE_ROLE_MANAGE, manage_redeliver}};
    return manage_subcommand (self, request, subcommands, sizeof subcommands / sizeof *subcommands,
                              "callback: want test TARGET CALLBACK as JSON, or redeliver ID");
}
