// team: the workers of a plan's run, and the state of each (pull.h).

#include "manage_private.h"
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

// NULL: the text is empty.
static json_t *text_json (struct span text)
{
    return text.size ? json_stringn ((const char *)text.data, text.size) : NULL;
}

static json_t *member_json (const struct team_member *member)
{
    char id[IDENT_SIZE];
    // The worker is of an earlier attempt, and takes no slot of the team.
    bool earlier = span_is (member->state, "out");
    return json_pack (
        "{s:o*, s:o*, s:s, s:I, s:I, s:o*, s:o*, s:o*, s:o*, s:o*}", "worker",
        text_json (member->name), "state", text_json (earlier ? span_text ("fail") : member->state),
        "exec_id", ident_text (member->exec_id, id), "started_ms", (json_int_t)member->started_ms,
        "heard_ms", (json_int_t)member->last_report_ms, "ended_ms",
        member->ended_ms ? json_integer (member->ended_ms) : NULL, "earlier",
        earlier ? json_true () : NULL, "progress", text_json (member->progress), "reason",
        text_json (member->reason), "result",
        json_loadb ((const char *)member->result.data, member->result.size, JSON_DECODE_ANY, NULL));
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
        json_t *workers = json_array ();
        for (size_t i = 0; core_team_member (&answer->team, i, &member); i++) {
            counts.running += span_is (member.state, "running");
            counts.timed_out += span_is (member.state, "timeout");
            counts.succeeded += span_is (member.state, "success");
            counts.failed += span_is (member.state, "fail") || span_is (member.state, "out");
            json_array_append_new (workers, member_json (&member));
        }
        manage_reply_json (
            inquiry->station, inquiry->peer, inquiry->plan.id,
            json_pack ("{s:s, s:o*, s:b, s:s, s:o}", "plan_id", ident_text (inquiry->plan.id, id),
                       "station", text_json (answer->team.target), "current", answer->team.current,
                       "state", task_state (&counts), "workers", workers));
    }
    inquiry_end (inquiry, result, answer->error);
}

static void ask_team (void *owner)
{
    struct inquiry *inquiry = owner;
    store_team (inquiry->station->store, inquiry->plan.id, inquiry->plan.station, on_team, inquiry);
}

int manage_team (struct station *self, struct request *request)
{
    return inquiry_read (self, request, ask_team);
}
