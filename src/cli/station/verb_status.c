// zplan status: prints the station on one screen.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "verb_doctor.h"
#include "ident.h"
#include "instant.h"
#include "json.h"
#include "outcomes.h"
#include "pages.h"
#include "plan.h"
#include "cells.h"
#include "print.h"
#include "status_screen.h"

enum { PLANS_MAX = 10000 };

static const char about[] =
    "Print the station on one screen: whether it is healthy, what runs, which plans failed since\n"
    "yesterday and why, what comes next, and its targets. It looks at 10000 plans at most. The\n"
    "exit status is 1 when the station is not healthy: zplan doctor says why. Parts that a key\n"
    "may not see are named at the end.\n\n"
    "  zplan status\n"
    "  zplan status --json | jq .failed\n";

// -- the parts

// Note that a part is unknown. False: the station does not answer at all.
static bool note_unknown_part (struct status *self, const char *part, const struct verdict *verdict)
{
    if (verdict->code == EXIT_NO_ANSWER)
        return false;
    if (verdict->code == EXIT_DONE)
        return true;
    json_t *reason = json_from_frame (span_of (verdict->words, verdict->size));
    const char *text = json_string_value (reason);
    text = text && *text ? text : "rejected";
    json_t *parts = json_object_get (self->hidden, text);
    if (!parts) {
        parts = json_array ();
        json_object_set_new (self->hidden, text, parts);
    }
    json_array_append_new (parts, json_string (part));
    json_decref (reason);
    return true;
}

// -- plans

static bool handle_plans (struct pages *pages, const json_t *page)
{
    struct status *self = pages->owner;
    size_t i;
    json_t *plan;
    json_array_foreach (json_object_get (page, "plans"), i, plan)
    {
        json_int_t state = field_number (plan, "plan_state");
        self->plans++;
        pages->room--;
        self->running_count += state == PLAN_EXECUTE;
        if (state == PLAN_EXECUTE && json_array_size (self->running) < STATUS_FAILED_SHOWN)
            json_array_append (self->running, plan);
        self->retrying += state == PLAN_RETRY;
        self->paused += state == PLAN_PAUSE;
        self->dead += state == PLAN_ERROR;
    }
    if (pages->room <= 0 && json_object_get (page, "next"))
        self->more = true;
    return true;
}

// Take the plans that run next: they arrive in the order of their times. Plans being retried are
// not listed.
static bool handle_next_plans (struct pages *pages, const json_t *page)
{
    struct status *self = pages->owner;
    size_t i;
    json_t *plan, *next = self->next;
    json_array_foreach (json_object_get (page, "plans"), i, plan)
    {
        pages->room--;
        if (plan_waits (plan) && json_array_size (next) < STATUS_SHOWN)
            json_array_append (next, plan);
    }
    return json_array_size (next) < STATUS_SHOWN;
}

// Add the progress of a plan that workers fetched: each worker has its own, and the first one that
// reports any is shown.
static void add_progress (struct status *self, json_t *plan)
{
    size_t i;
    const json_t *worker;
    struct verdict ignored;
    if (json_object_get (plan, "progress"))
        return;
    const char *const request_words[] = {"team", id_hex_text (json_object_get (plan, "plan_id")),
                                         NULL};
    json_t *team = call_command_quietly (self->cli, self->client, request_words, &ignored);
    json_array_foreach (json_object_get (team, "workers"), i, worker)
    {
        json_t *progress = json_object_get (worker, "progress");
        if (progress && span_is (field_text (worker, "state"), "running")) {
            json_object_set (plan, "progress", progress);
            break;
        }
    }
    json_decref (team);
}

static struct verdict read_pages (struct status *self, const char *field, const char *value,
                                  int64_t room, bool (*take) (struct pages *, const json_t *))
{
    struct pages pages = {.word = "list",
                          .filter = field ? json_pack ("{s:s}", field, value) : json_object (),
                          .room = room,
                          .size = PAGE_LARGE,
                          .take = take,
                          .owner = self};
    return pages_read (self->cli, self->client, &pages);
}

static struct verdict request_plans (struct status *self)
{
    size_t i;
    json_t *plan;
    struct verdict verdict = read_pages (self, NULL, NULL, PLANS_MAX, handle_plans);
    if (verdict.code != EXIT_DONE) {
        self->plans = -1;
        return verdict;
    }
    // Not all plans were read: read all running and all stopped ones separately.
    if (self->more) {
        json_array_clear (self->running);
        self->running_count = self->paused = self->dead = 0;
        verdict = read_pages (self, "state", "execute", INT64_MAX, handle_plans);
        if (verdict.code == EXIT_DONE)
            verdict = read_pages (self, "order", "stopped", INT64_MAX, handle_plans);
    }
    if (verdict.code == EXIT_DONE)
        verdict = read_pages (self, "order", "time", PLANS_MAX, handle_next_plans);
    json_array_foreach (self->running, i, plan) add_progress (self, plan);
    return verdict;
}

// -- failures

// Count one run; runs arrive newest first.
static void count_run (struct status *self, json_t *run)
{
    const char *plan = json_string_value (json_object_get (run, "plan"));
    const char *word = outcome_word ((int)(field_number (run, "status") & UINT8_MAX));
    bool failed = strcmp (word, "failed") == 0 || strcmp (word, "lost") == 0;
    bool ok = field_number (run, "status") < ZERO_STATUS_ERROR_FLAG;
    if (!plan || (!failed && !ok))
        return; // missed and cancelled runs are neither success nor failure
    if (!json_object_get (self->seen, plan))
        json_object_set_new (self->seen, plan, json_boolean (ok));
    json_t *row = json_object_get (self->failing, plan);
    if (failed && row) {
        json_object_set_new (row, "failures", json_integer (field_number (row, "failures") + 1));
    } else if (failed) {
        json_object_set_new (run, "failures", json_integer (1));
        json_object_set (run, "recovered", json_object_get (self->seen, plan));
        json_object_set (self->failing, plan, run);
        self->failed_count++;
        if (json_array_size (self->failed) < STATUS_FAILED_SHOWN)
            json_array_append (self->failed, run);
    }
}

static bool handle_run (struct pages *pages, json_t *run)
{
    struct status *self = pages->owner;
    bool old = json_number_value (json_object_get (run, "ended")) * 1000 < (double)self->since_ms;
    if (!old)
        count_run (self, run);
    // A restored outcome has no seq, and may precede newer ones.
    return !old || !field_number (run, "seq");
}

// Add the run's output: request the plan's first outcome after the entry before its own.
static void add_output (struct status *self, json_t *run)
{
    struct outcome_key key;
    struct verdict ignored;
    char after[ENTRY_NAME_SIZE];
    if (!outcome_key_read (run, &key) || (key.seq == 0 && key.sub == 0))
        return;
    snprintf (after, sizeof after, "%" PRIu64 "-%" PRIu64, key.sub ? key.seq : key.seq - 1,
              key.sub ? key.sub - 1 : INT64_MAX - 1);
    json_t *answer =
        call_with_filter (self->cli, self->client, "history",
                          json_pack ("{sO ss sb si}", "plan", json_object_get (run, "plan"),
                                     "after", after, "output", 1, "limit", 1),
                          &ignored);
    const json_t *found = json_array_get (json_object_get (answer, "runs"), 0);
    if (json_equal (json_object_get (found, "entry"), json_object_get (run, "entry")) &&
        json_object_get (found, "output"))
        json_object_set (run, "output", json_object_get (found, "output"));
    json_decref (answer);
}

// Add the command of a plan without name and title, if the plan still exists: request the first
// plan after the id before its own.
static void add_command (struct status *self, json_t *run)
{
    uint64_t id;
    char before[IDENT_SIZE];
    struct verdict ignored;
    const json_t *title = json_object_get (run, "title");
    if (json_object_get (run, "key") || json_is_object (title) || json_string_length (title) ||
        !ident_parse (field_text (run, "plan"), &id) || id < 2)
        return;
    json_t *answer = call_with_filter (
        self->cli, self->client, "list",
        json_pack ("{ss si}", "after", ident_text (id - 1, before), "limit", 1), &ignored);
    const json_t *plan = json_array_get (json_object_get (answer, "plans"), 0);
    json_t *command = json_object_get (plan, "command");
    if (command && field_number (plan, "plan_id") == (json_int_t)id)
        json_object_set (run, "command", command);
    json_decref (answer);
}

static struct verdict request_failed_runs (struct status *self)
{
    size_t i;
    json_t *run;
    int64_t since = 0;
    struct pages pages = {.word = "history",
                          .filter = json_pack ("{s:b}", "newest", 1),
                          .room = INT64_MAX,
                          .size = PAGE_LARGE,
                          .take_item = handle_run,
                          .owner = self};
    instant_since ("yesterday", display_get ()->now, &since);
    self->since_ms = since * 1000;
    struct verdict verdict = pages_read (self->cli, self->client, &pages);
    json_array_foreach (self->failed, i, run)
    {
        add_output (self, run);
        add_command (self, run);
    }
    return verdict;
}

// -- all parts

// Request all parts. False: the station does not answer; `verdict` has the reason.
static bool request_parts (struct status *self, struct verdict *verdict)
{
    self->health = call_with_filter (self->cli, self->client, "health", NULL, verdict);
    if (!note_unknown_part (self, "health", verdict))
        return false;
    json_t *stats = call_with_filter (self->cli, self->client, "stats", NULL, verdict);
    if (!note_unknown_part (self, "targets", verdict))
        return false;
    json_array_extend (self->targets, json_object_get (stats, "targets"));
    if (self->health && stats)
        doctor_check_work (self->cli, self->client, self->health, stats);
    json_decref (stats);
    *verdict = request_failed_runs (self);
    if (!note_unknown_part (self, "failures", verdict))
        return false;
    *verdict = request_plans (self);
    return note_unknown_part (self, "plans", verdict);
}

// Convert a list to the form of --json.
static json_t *list_as_json (const struct cli *cli, enum json_kind kind, json_t *list)
{
    return strcmp (cli->json, "wire") == 0 ? json_incref (list) : json_names (kind, list);
}

static void print_object (const struct status *self)
{
    const struct cli *cli = self->cli;
    bool known = self->plans >= 0;
    print_json_new (
        json_pack ("{s:o*, s:O*, s:o, s:o, s:o, s:o, s:o*, s:o*, s:o*, s:O*}", "healthy",
                   self->health ? json_boolean (field_is_true (self->health, "healthy")) : NULL,
                   "findings", json_object_get (self->health, "findings"), "running",
                   list_as_json (cli, JSON_PLAN, self->running), "failed",
                   list_as_json (cli, JSON_RUN, self->failed), "coming",
                   list_as_json (cli, JSON_PLAN, self->next), "targets",
                   list_as_json (cli, JSON_TARGET, self->targets), "paused",
                   known ? json_integer (self->paused) : NULL, "retrying",
                   known ? json_integer (self->retrying) : NULL, "dead",
                   known ? json_integer (self->dead) : NULL, "hidden",
                   json_object_size (self->hidden) ? self->hidden : NULL));
}

static int show_status (const struct cli *cli, struct zplan_client *client)
{
    struct verdict verdict;
    struct status self = {.cli = cli,
                          .client = client,
                          .seen = json_object (),
                          .failing = json_object (),
                          .running = json_array (),
                          .failed = json_array (),
                          .next = json_array (),
                          .targets = json_array (),
                          .hidden = json_object ()};
    bool answered = request_parts (&self, &verdict);
    int code = field_is_true (self.health, "healthy") ? EXIT_DONE : EXIT_REFUSED;
    if (!answered)
        code = verdict_print (&verdict, NULL);
    else if (cli->json)
        print_object (&self);
    else
        status_print (&self);
    json_t *all[] = {self.seen, self.failing, self.running, self.failed,
                     self.next, self.targets, self.hidden,  self.health};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_decref (all[i]);
    return code;
}

int verb_status (const struct cli *cli)
{
    return verb_run (cli, "zplan status", about, show_status);
}
