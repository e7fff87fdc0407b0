// next: when a plan will run, without running it. Assumes that each run ends in its nominal second.
#include <stdlib.h>

#include "access.h"
#include "manage_private.h"
#include "memory.h"
#include "misses.h"
#include "permit.h"
#include "plan_json.h"
#include "reads.h"
#include "zones.h"

enum { COUNT_DEFAULT = 10, COUNT_MAX = 1000 };

struct next_inquiry {
    struct inquiry inquiry;
    int64_t count;
};

// The nominal times from this occurrence on.
static json_t *occurrence_times (const struct plan *plan, const struct zone *zone,
                                 struct occurrence at, int64_t count)
{
    json_t *list = json_array ();
    bool more = true;
    for (int64_t i = 0; more && i < count; i++) {
        struct occurrence current = at;
        json_array_append_new (list, json_integer (current.time));
        more = schedule_next (&plan->schedule, zone, &current, current.time, &at);
        if (more && i == 0 && plan->skip_wait) {
            current = at;
            more = schedule_skip (&plan->schedule, zone, &current, plan->skip_wait, &at);
        }
    }
    return list;
}

// Reply with these times. Takes over `list`.
static void reply_times (struct station *self, struct peer *peer, uint64_t plan_id, json_t *list)
{
    manage_reply_json (
        self, peer, plan_id,
        json_pack ("{s:b, s:o}", "never", json_array_size (list) == 0, "next", list));
}

static void on_loaded (void *owner, const struct store_loaded *answer)
{
    struct next_inquiry *preview = owner;
    struct station *self = preview->inquiry.station;
    struct reason reason;
    enum store_result result = inquiry_check (&preview->inquiry, answer);
    struct plan *plan = NULL;
    if (result == STORE_DONE)
        plan = plan_from_stored_json (preview->inquiry.plan.id, answer->message, &reason);
    if (plan)
        reply_times (self, preview->inquiry.peer, plan->id,
                     plan->state == PLAN_CLOSE
                         ? json_array ()
                         : occurrence_times (plan, zones_of (self, plan), plan_occurrence (plan),
                                             preview->count));
    else if (result == STORE_DONE)
        reply_refuse (self, preview->inquiry.peer, ZPLAN_EARGUMENT, reason.text);
    else
        inquiry_refuse (&preview->inquiry, result, answer->error);
    plan_destroy (&plan);
    free (preview);
}

// Preview a plan frame without submitting it.
static int preview_frame (struct station *self, struct request *request, struct span frame,
                          int64_t count)
{
    struct reason *reason = &request->reason;
    struct plan_fields fields;
    struct occurrence first;
    if (plan_frame_parse (frame, &self->settings->limits.plan, &fields, reason))
        return ZPLAN_EARGUMENT;
    const struct zone *zone = zones_find (self, fields.policy, reason);
    if (!zone) {
        plan_fields_clear (&fields);
        return ZPLAN_EARGUMENT;
    }
    struct plan *plan = plan_new (0);
    plan->schedule = fields.schedule;
    plan->policy = fields.policy;
    plan->schedule.received = station_now (self);
    plan->skip_set = fields.skip_set;
    struct misses ignored;
    bool runs = misses_find_first (plan, zone, plan->schedule.received, &ignored, &first);
    reply_times (self, &request->peer, 0,
                 runs ? occurrence_times (plan, zone, first, count) : json_array ());
    plan_destroy (&plan);
    return 0;
}

int manage_next (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    int64_t count = COUNT_DEFAULT;
    struct span what = request->args[0];
    if (request->arg_count > 1 && !argument_number (request->args[1], 1, COUNT_MAX, &count))
        return reason_error (reason, ZPLAN_EARGUMENT, "next: want a number of times 1..%d, got %s",
                             COUNT_MAX, quoted (request->args[1]));
    if (what.size && (what.data[0] == '{' || what.data[0] >= 0x80))
        return preview_frame (self, request, what, count);
    // Submitters may preview plan frames of their own; stored plans need the role observe.
    struct plan_name plan;
    int rc = permit_roles (self, request->peer.user, CURVE_ROLE_OBSERVE, reason);
    if (rc || (rc = manage_plan_name (self, request, what, &plan)))
        return rc;
    struct next_inquiry *preview = memory_new (sizeof *preview);
    *preview = (struct next_inquiry){{self, peer_keep (self, request), plan}, count};
    reads_load (self, preview->inquiry.peer, plan.id, on_loaded, preview);
    return 0;
}
