// Heartbeats and reports of workers about the plans that they took; the team of a plan.
#include <inttypes.h>
#include <stdlib.h>

#include "core_private.h"
#include "ident.h"
#include "memory.h"
#include "redis_keys.h"
#include "sha1.h"

static const char NO_PLAN[] = "there is no such plan";
static const char OTHER_REPORT[] = "the worker has reported another result of this run";
static const char MORE_WORKERS[] = "release: the plan has more than one worker";
static const char NOT_NAMED[] = "only: the worker may no longer run the plan";
static const char LATE[] = "the worker sent no heartbeat within worker_timeout";

// -- the team and the worker that a message is about

// Find the plan of a message. CORE_DONE: it exists; `ret` is NULL if only Redis has its data.
// CORE_NONE: there is no such plan. CORE_UNREAD: the plan must be read.
static enum core_result find_worker_plan (struct core *self, const struct core_worker *sender,
                                          int64_t now_us, struct open_plan **ret)
{
    const struct core_found *found = sender->found;
    struct open_plan *plan = sender->target.size ? open_find (self, sender->target, sender->id)
                                                 : open_find_id (self, sender->id);
    bool exists = found && found->target.size &&
                  (!sender->target.size || span_equal (found->target, sender->target));
    *ret = NULL;
    if (plan && plan->gone)
        return CORE_NONE;
    if (exists) { // this keeps what the core knows already
        core_load_team (self, found->target, sender->id, found, now_us);
        plan = plan ? plan : open_find (self, found->target, sender->id);
    }
    bool known =
        plan && (plan->message || plan->batches) && (plan->team_known || !open_has_run (plan));
    if (known)
        *ret = plan;
    if (known || exists)
        return CORE_DONE;
    return found ? CORE_NONE : CORE_UNREAD;
}

// Find the plan and the worker of a message. `ret_why`: the reason why the worker has no part in
// the run in flight; NULL: it has. CORE_DONE, CORE_UNREAD.
static enum core_result find_worker (struct core *self, const struct core_worker *sender,
                                     int64_t now_us, struct open_plan **ret,
                                     struct team_worker **ret_worker, const char **ret_why)
{
    struct open_plan *plan;
    enum core_result result = find_worker_plan (self, sender, now_us, &plan);
    *ret = plan;
    *ret_worker = NULL;
    *ret_why = NULL;
    if (result == CORE_UNREAD)
        return result;
    bool current = plan && open_has_run (plan) && plan->pull && team_is_current (plan->pull->team);
    struct team_worker *worker = current ? team_find (plan->pull->team, sender->worker) : NULL;
    if (result == CORE_NONE)
        *ret_why = NO_PLAN;
    else if (!current)
        *ret_why = "the run is over";
    else if (!worker)
        *ret_why = "the worker is not in the team";
    else if (sender->exec_id && sender->exec_id != worker->exec_id)
        *ret_why = "the worker has another run of this plan now";
    else if (worker_is_late (worker, now_us / 1000))
        *ret_why = LATE;
    else if (worker->state == WORKER_FAILED_EARLIER) // it failed in an earlier try
        *ret_why = "the run is over";
    *ret_worker = worker;
    return CORE_DONE;
}

// Remove late workers from the team, if `why` is NULL or LATE (the sender itself is late).
static void remove_late_workers (struct core *self, struct open_plan *plan,
                                 const struct core_worker *sender, const char *why, int64_t now_us)
{
    if (why && why != LATE)
        return;
    team_remove_late (plan->pull->team, now_us / 1000);
    open_mark_written (self, plan, WRITE_TEAM);
    if (why)
        pull_update_run (self, plan, sender->lease_us, now_us);
}

// -- heartbeats

enum core_result core_pull_alive (struct core *self, const struct core_worker *sender,
                                  const struct core_heartbeat *heartbeat, int64_t now_us,
                                  struct core_alive *ret)
{
    struct open_plan *plan;
    struct team_worker *worker;
    *ret = (struct core_alive){0};
    if (find_worker (self, sender, now_us, &plan, &worker, &ret->stop) == CORE_UNREAD)
        return CORE_UNREAD;
    remove_late_workers (self, plan, sender, ret->stop, now_us);
    if (ret->stop)
        return CORE_DONE;
    struct team *team = plan->pull->team;
    bool allowed = team_rule_allows (&team->rule, sender->worker);
    if (worker->state != WORKER_RUNNING) {
        ret->stop = "the worker has ended its work";
        return CORE_DONE;
    }
    if (!allowed || heartbeat->release) {
        ret->stop = allowed ? "the worker released the plan" : NOT_NAMED;
        team_remove (team, worker);
    } else {
        worker->last_report_ms = now_us / 1000;
        worker->unwritten = true;
        if (heartbeat->progress.size)
            worker_set_text (&worker->progress, heartbeat->progress);
        if (team->rule.ping_s >=
            worker->timeout_s) // else the new heartbeat interval would exceed its timeout
            worker->timeout_s = team->rule.timeout_s;
        ret->ping_s = team->rule.ping_s;
        ret->timeout_s = worker->timeout_s;
    }
    pull_update_run (self, plan, sender->lease_us, now_us);
    return CORE_DONE;
}

// -- accepted reports

// plan:reports keeps accepted reports beyond their runs, by time of arrival: a worker that got no
// reply repeats its report. A score is the time combined with a checksum of the report.
enum { SUMS = 256 };

size_t core_report_name (const struct core_worker *worker, char out[REPORT_NAME_SIZE])
{
    char id[IDENT_SIZE], exec_id[24] = "";
    if (worker->exec_id)
        snprintf (exec_id, sizeof exec_id, "%" PRIu64, worker->exec_id);
    int size = snprintf (out, REPORT_NAME_SIZE, "%s %s %.*s", ident_text (worker->id, id), exec_id,
                         (int)worker->worker.size, (const char *)worker->worker.data);
    return size < REPORT_NAME_SIZE ? (size_t)size : REPORT_NAME_SIZE - 1;
}

// One byte of the SHA-1 of a report: distinguishes a repeated report from another one.
static int64_t report_checksum (const struct core_report *report)
{
    uint8_t sum[SHA1_SIZE];
    char advice[48] = "";
    if (report->advice.kind != ADVICE_NONE)
        snprintf (advice, sizeof advice, " %d %" PRId64, (int)report->advice.kind,
                  report->advice.after_s);
    const struct span parts[] = {span_text (report->success ? "success " : "fail "), report->reason,
                                 span_text (" "), report->result, span_text (advice)};
    sha1_sum (parts, sizeof parts / sizeof *parts, sum);
    return sum[0];
}

// Write an accepted report to plan:reports with the open batch.
static void remember_report (struct core *self, const struct core_worker *worker,
                             const struct core_report *report, int64_t now_us)
{
    char name[REPORT_NAME_SIZE];
    size_t size = core_report_name (worker, name);
    struct kept_report *kept = memory_new (sizeof *kept + size + 1);
    kept->score = now_us / 1000 * SUMS + report_checksum (report);
    memcpy (kept->name, name, size);
    kept->next = self->reports;
    self->reports = kept;
}

// The score of an accepted report that is not in Redis yet; -1: there is none of this name.
static int64_t unwritten_report_score (const struct core *self, const char *name)
{
    const struct kept_report *lists[] = {self->reports, self->reports_in_flight};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct kept_report *kept = lists[i]; kept; kept = kept->next)
            if (strcmp (kept->name, name) == 0)
                return kept->score;
    return -1;
}

void reports_free (struct kept_report **list)
{
    for (struct kept_report *kept = *list, *next; kept; kept = next) {
        next = kept->next;
        free (kept);
    }
    *list = NULL;
}

void reports_write (struct core *self)
{
    struct rows *rows = self->gathering;
    size_t count = 0, at = 2;
    if (!self->reports)
        return;
    for (const struct kept_report *kept = self->reports; kept; kept = kept->next)
        count++;
    struct span *words = memory_new ((2 + 2 * count) * sizeof *words),
                key = span_text (KEY_REPORTS);
    words[0] = span_text ("ZADD");
    words[1] = key;
    for (const struct kept_report *kept = self->reports; kept; kept = kept->next) {
        words[at++] = rows_number (rows, kept->score);
        words[at++] = rows_copy_text (rows, span_text (kept->name));
    }
    rows_add_command (rows, words, at);
    // Keep the last 100,000, and those for one day.
    rows_add_command (rows, WORDS (TEXT ("ZREMRANGEBYRANK"), key, TEXT ("0"), TEXT ("-100001")));
    rows_add_command (rows, WORDS (TEXT ("EXPIRE"), key, TEXT ("86400")));
    free (words);
    self->reports_in_flight = self->reports;
    self->reports = NULL;
}

// Answer a report of a worker that has no part in the run: accept it if it repeats an accepted one,
// else reject it for the reason `why`.
static enum core_result check_repeated_report (const struct core *self,
                                               const struct core_worker *worker,
                                               const struct core_report *report, const char *why,
                                               struct core_reported *ret)
{
    char name[REPORT_NAME_SIZE];
    name[core_report_name (worker, name)] = '\0';
    int64_t score = unwritten_report_score (self, name);
    if (score < 0 && !worker->found)
        return CORE_UNREAD;
    if (score < 0)
        score = worker->found->report;
    if (score < 0)
        ret->refused = why;
    else if (score % SUMS != report_checksum (report))
        ret->refused = OTHER_REPORT;
    return CORE_DONE;
}

// -- reports

// Record the worker's report in the team, or accept its repeat. False: the worker has reported
// another result before.
static bool record_report (struct core *self, struct team_worker *worker,
                           const struct core_worker *sender, const struct core_report *report,
                           int64_t now_us)
{
    enum worker_state state = report->success ? WORKER_SUCCESS : WORKER_FAIL;
    if (worker->state != WORKER_RUNNING)
        return worker->state == state && worker->advice.kind == report->advice.kind &&
               worker->advice.after_s == report->advice.after_s &&
               span_equal (worker->reason, report->reason) &&
               span_equal (worker->result, report->result);
    worker->state = state;
    worker->ended_ms = now_us / 1000;
    worker->advice = report->advice;
    worker_set_text (&worker->reason, report->reason);
    worker_set_text (&worker->result, report->result);
    worker->unwritten = true;
    remember_report (self, sender, report, now_us);
    return true;
}

enum core_result core_pull_report (struct core *self, const struct core_worker *sender,
                                   const struct core_report *report, int64_t now_us,
                                   struct core_reported *ret)
{
    struct open_plan *plan;
    struct team_worker *worker;
    const char *why = NULL;
    *ret = (struct core_reported){0};
    if (report->repeat)
        return check_repeated_report (self, sender, report, NO_PLAN, ret);
    if (find_worker (self, sender, now_us, &plan, &worker, &why) == CORE_UNREAD)
        return CORE_UNREAD;
    if (why && check_repeated_report (self, sender, report, why, ret) == CORE_UNREAD)
        return CORE_UNREAD;
    remove_late_workers (self, plan, sender, why, now_us);
    if (why)
        return CORE_DONE;
    struct team *team = plan->pull->team;
    if (worker->state == WORKER_RUNNING && !team_rule_allows (&team->rule, sender->worker)) {
        ret->refused = NOT_NAMED;
        team_remove (team, worker);
        pull_update_run (self, plan, sender->lease_us, now_us);
        return CORE_DONE;
    }
    if (report->advice.kind == ADVICE_RELEASE && team->rule.count > 1) {
        ret->refused = MORE_WORKERS;
        return CORE_DONE;
    }
    if (!record_report (self, worker, sender, report, now_us)) {
        ret->refused = OTHER_REPORT;
        return CORE_DONE;
    }
    struct pull_state state = pull_update_run (self, plan, sender->lease_us, now_us);
    ret->outcome = outcome_copy (self, &state.outcome);
    ret->target = core_target_name (plan->target);
    ret->message = rows_copy_text (self->gathering, span_of (plan->message, plan->message_size));
    ret->exec_id = plan->exec_id;
    ret->earlier_may_answer = plan->earlier_may_answer;
    return CORE_DONE;
}

// -- the team

enum core_result core_pull_team (struct core *self, const struct core_worker *sender,
                                 int64_t now_us, struct core_team *ret)
{
    struct open_plan *plan;
    const struct core_found *found = sender->found;
    enum core_result result = find_worker_plan (self, sender, now_us, &plan);
    *ret = (struct core_team){.now_ms = now_us / 1000};
    team_destroy (&self->returned_team);
    if (result == CORE_DONE && plan && !plan->team_known && !found)
        return CORE_UNREAD;
    if (result != CORE_DONE)
        return result;
    if (plan && plan->team_known) {
        ret->target = core_target_name (plan->target);
        ret->message = span_of (plan->message, plan->message_size);
        ret->team = plan->pull ? plan->pull->team : NULL;
        ret->current = open_has_run (plan) && ret->team && team_is_current (ret->team);
    } else {
        self->returned_team = team_new ();
        for (size_t i = 0; i + 1 < found->team_count; i += 2)
            team_load (self->returned_team, found->team[i], found->team[i + 1]);
        ret->target = found->target;
        ret->message = found->message;
        ret->team = self->returned_team;
    }
    ret->count = ret->team ? ret->team->count : 0;
    return CORE_DONE;
}

bool core_team_member (const struct core_team *self, size_t index, struct team_member *ret)
{
    if (index >= self->count)
        return false;
    *ret = worker_describe (self->team->workers[index], self->now_ms);
    return true;
}
