// A core and a model of its plans in Redis, for tests of single rules: each decision is written and
// acknowledged at once, unless a test does so itself.
#pragma once

#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "../sim/core_data.h"

enum { SECOND = 1000000, LEASE_US = 300 * SECOND };

static int64_t now_us;
static struct core *core;
static struct core_data *data; // what Redis has

static inline struct span text (const char *of)
{
    return span_text (of);
}

// Write and acknowledge the rows that the core has gathered, and read the pages of the queue that
// it wants.
static inline void acked (void)
{
    const char *why;
    struct core_cursor cursor;
    if (core_has_rows (core)) {
        assert_true (core_data_apply (data, core_close_batch (core), &why));
        core_batch_acked (core, now_us);
    }
    while (core_wants_page (core, now_us, &cursor))
        core_data_page (data, core, &cursor, now_us);
}

static inline void start (const struct core_bounds *bounds)
{
    now_us = 1700000000ll * SECOND;
    core = core_new (bounds);
    data = calloc (1, sizeof *data);
    assert_non_null (data);
    core_data_load (data, core);
    acked ();
}

static inline void finish (void)
{
    core_destroy (&core);
    core_data_free (data);
}

static inline void begin (void)
{
    start (&(struct core_bounds){.outcomes = 100});
}

static inline enum core_result try_submit (uint64_t id, const char *target, const char *caller,
                                           struct core_refusal *ret)
{
    const struct core_submission submission = {.target = text (target),
                                               .id = id,
                                               .message = text ("{\"revision\":1}"),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = now_us,
                                               .caller = text (caller)};
    return core_submit (core, &submission, now_us, ret);
}

static inline void submit_at (uint64_t id, const char *target, int64_t due_us, const char *group)
{
    struct core_refusal refusal;
    const struct core_submission submission = {.target = text (target),
                                               .id = id,
                                               .message = text ("{\"revision\":1}"),
                                               .revision = 1,
                                               .queued = true,
                                               .due_us = due_us,
                                               .group = text (group),
                                               .caller = text ("c:me")};
    assert_int_equal (core_submit (core, &submission, now_us, &refusal), CORE_DONE);
    acked ();
}

static inline void submit (uint64_t id)
{
    submit_at (id, "jobs", now_us, "");
}

// Begin the runs that are due. Returns the plans' ids in order, as "1 2 3"; `ret` is the last run
// that was begun.
static inline const char *take_by (const struct core_wish *wish, struct core_taken *ret)
{
    static char ids[256];
    bool begun[16] = {false};
    struct core_choice choices[32];
    acked ();
    size_t count = core_choose (core, wish, now_us, choices, 32);
    ids[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct core_taken taken;
        const struct kept_plan *plan = &data->plans[core_choice_id (&choices[i])];
        if (choices[i].needs_read) {
            core_found_message (&choices[i],
                                plan->message ? text (plan->message) : (struct span){0});
            core_found_score (&choices[i], plan->queued ? plan->score_us : -1);
            core_found_run (&choices[i], text (plan->run));
        }
        if (core_begin_run (core, &choices[i], wish, now_us, &taken) != CORE_DONE)
            continue;
        begun[taken.id] = true;
        if (ret)
            *ret = taken;
    }
    for (int id = 0; id < 16; id++)
        if (begun[id])
            snprintf (ids + strlen (ids), sizeof ids - strlen (ids), "%s%d", *ids ? " " : "", id);
    acked ();
    return ids;
}

// Begin the runs that are due, for any target. The first attempt may find only former queue entries
// of plans; it is then repeated.
static inline const char *take (struct core_taken *ret)
{
    const struct core_wish wish = {.limit = 32, .lease_us = LEASE_US};
    const char *ids = take_by (&wish, ret);
    return *ids || !core_has_due (core, &wish, now_us) ? ids : take_by (&wish, ret);
}

static inline enum core_result commit (const struct core_commit *how, uint64_t exec_id,
                                       struct core_committed *ret)
{
    struct core_commit of = *how;
    of.target = text ("jobs");
    of.id = 1;
    of.exec_id = exec_id;
    of.caller = text ("c:me");
    enum core_result result = core_commit (core, &of, now_us, ret);
    acked ();
    return result;
}

static inline enum core_result end (uint64_t exec_id, enum core_end how)
{
    struct core_committed committed;
    return commit (&(struct core_commit){.end = how,
                                         .queued = how != CORE_OVER,
                                         .due_us = now_us + 10 * SECOND,
                                         .decided_on = -1},
                   exec_id, &committed);
}

static inline struct core_view seen (uint64_t id)
{
    struct core_view view = {0};
    core_view (core, id, &view);
    return view;
}
