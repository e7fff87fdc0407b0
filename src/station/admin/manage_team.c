// team: the workers of a plan's run, and the state of each (pull.h).

#include "manage_private.h"
#include "reads.h"
#include "store_pull.h"

// Numbers of workers per state, which give the state of the task.
struct task_counts {
    size_t running, timed_out, succeeded, failed;
};

static const char *task_state (const struct task_counts *counts)
{
    if (counts->running)
        return "running";
    if (counts->succeeded && counts->failed)
        return "mixed";
    if (counts->succeeded || counts->failed)
        return counts->succeeded ? "success" : "fail";
    return counts->timed_out ? "timeout" : "not started";
}

static void count_member_state (struct task_counts *counts, const struct team_member *member)
{
    counts->running += span_is (member->state, "running");
    counts->timed_out += span_is (member->state, "timeout");
    counts->succeeded += span_is (member->state, "success");
    counts->failed += span_is (member->state, "fail") || span_is (member->state, "out");
}

static json_t *text_json (struct span text)
{
    return json_stringn ((const char *)text.data, text.size);
}

static json_t *member_json (const struct team_member *member)
{
    char id[IDENT_SIZE];
    bool out = span_is (member->state, "out");
    json_t *object = json_object ();
    json_object_set_new (object, "worker", text_json (member->name));
    json_object_set_new (object, "state", out ? json_string ("fail") : text_json (member->state));
    json_object_set_new (object, "exec_id", json_string (ident_text (member->exec_id, id)));
    json_object_set_new (object, "started_ms", json_integer (member->started_ms));
    json_object_set_new (object, "heard_ms", json_integer (member->last_report_ms));
    if (member->ended_ms)
        json_object_set_new (object, "ended_ms", json_integer (member->ended_ms));
    if (out) // from an earlier attempt: it takes no slot of the team
        json_object_set_new (object, "earlier", json_true ());
    if (member->progress.size)
        json_object_set_new (object, "progress", text_json (member->progress));
    if (member->reason.size)
        json_object_set_new (object, "reason", text_json (member->reason));
    json_t *result =
        json_loadb ((const char *)member->result.data, member->result.size, JSON_DECODE_ANY, NULL);
    if (result)
        json_object_set_new (object, "result", result);
    return object;
}

static void on_team (void *owner, const struct store_pulled *answer)
{
    struct inquiry *inquiry = owner;
    struct task_counts counts = {0};
    struct team_member member;
    char id[IDENT_SIZE];
    enum store_result result = inquiry_check (
        inquiry, &(struct store_loaded){.result = answer->result, .station = answer->team.target});
    if (result == STORE_DONE) {
        json_t *object = json_object (), *workers = json_array ();
        for (size_t i = 0; core_team_member (&answer->team, i, &member); i++) {
            count_member_state (&counts, &member);
            json_array_append_new (workers, member_json (&member));
        }
        json_object_set_new (object, "plan_id", json_string (ident_text (inquiry->plan.id, id)));
        json_object_set_new (object, "station", text_json (answer->team.target));
        json_object_set_new (object, "current", json_boolean (answer->team.current));
        json_object_set_new (object, "state", json_string (task_state (&counts)));
        json_object_set_new (object, "workers", workers);
        manage_reply_json (inquiry->station, inquiry->peer, inquiry->plan.id, object);
    }
    inquiry_end (inquiry, result, answer->error);
}

static void ask_team (void *owner)
{
    struct inquiry *inquiry = owner;
    store_team (inquiry->station->store, inquiry->plan.id, inquiry->plan.station, on_team, inquiry);
}

void manage_team (struct station *self, struct request *request, const struct arguments *arguments)
{
    struct inquiry *inquiry = inquiry_new (self, request, arguments->at[0]);
    if (inquiry)
        reads_start (self, inquiry->peer, ask_team, inquiry);
}
