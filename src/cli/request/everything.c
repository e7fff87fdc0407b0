// zplan export --everything. Outcomes are exported before the plans, and those added meanwhile
// after the plans: so a plan may be older than the outcomes of its runs, but never newer.
#include "everything.h"

#include <inttypes.h>
#include <stdio.h>

#include "callback_rule.h"
#include "ident.h"
#include "json.h"
#include "pages.h"
#include "print.h"

struct everything_export {
    const struct cli *cli;
    struct zplan_client *client;
    struct plan_export plans;
    int64_t targets, kinds, limits, flows, unreadable;
    char last[48]; // entry of the outcome that was written last; "" = none
};

static void write_record (const char *type, json_t *record)
{
    json_t *line = json_pack ("{s:s}", "type", type);
    json_object_update (line, record);
    print_json_new (line);
    json_decref (record);
}

static void show_progress (struct plan_export *self)
{
    progress_step (&self->progress, (size_t)(self->written + self->others), 0);
}

// Whether `import` will reject the callback of this plan or kind: without the role manage its URLs
// are masked.
static bool has_masked_callback (const json_t *fields)
{
    struct reason ignored;
    json_t *callback = json_object_get (fields, "callback");
    json_t *rule = json_is_string (callback) ? json_read_object (text_of (callback), &ignored)
                                             : json_incref (callback);
    bool masked = callback && !callback_rule_check (NULL, rule, &ignored);
    json_decref (rule);
    return masked;
}

// -- targets, kinds, limits

// Send the command `what list`. NULL: reported, and `ret_code` is the exit code.
static json_t *request_list (const struct everything_export *self, const char *what, int *ret_code)
{
    return call_command (self->cli, self->client, (const char *[]){what, "list", NULL}, NULL,
                         ret_code);
}

static int write_targets (struct everything_export *self)
{
    int code;
    size_t i;
    json_t *target, *answer = request_list (self, "station", &code);
    json_array_foreach (json_object_get (answer, "stations"), i, target)
    {
        if (span_is (field_text (target, "type"), "flow"))
            continue;
        write_record ("target", json_pack ("{s:O*, s:O*, s:O*, s:O*}", "name",
                                           json_object_get (target, "name"), "origin",
                                           json_object_get (target, "origin"), "text",
                                           json_object_get (target, "text"), "key",
                                           json_object_get (target, "key")));
        self->targets++;
    }
    json_decref (answer);
    return code;
}

static int write_kinds (struct everything_export *self)
{
    int code;
    const char *name;
    json_t *fields, *answer = request_list (self, "kind", &code);
    json_object_foreach (json_object_get (answer, "kinds"), name, fields)
    {
        self->plans.masked += has_masked_callback (fields);
        write_record ("kind", json_pack ("{s:s, s:O}", "name", name, "fields", fields));
        self->kinds++;
    }
    json_decref (answer);
    return code;
}

// Write the limits that were set at run time; others are part of the settings.
static int write_limits (struct everything_export *self)
{
    int code;
    const char *name;
    json_t *limit, *answer = request_list (self, "limit", &code);
    json_object_foreach (json_object_get (answer, "limits"), name, limit)
    {
        if (!span_is (field_text (limit, "origin"), "set"))
            continue;
        json_object_del (limit, "origin");
        write_record ("limit", json_pack ("{s:s, s:O}", "name", name, "limit", limit));
        self->limits++;
    }
    json_decref (answer);
    return code;
}

static int write_flows (struct everything_export *self)
{
    return everything_flows (self->cli, self->client, &self->flows, &self->unreadable);
}

// -- history

static bool handle_run (struct pages *pages, json_t *run)
{
    struct everything_export *self = pages->owner;
    const char *entry = json_string_value (json_object_get (run, "entry"));
    if (entry)
        snprintf (self->last, sizeof self->last, "%s", entry);
    json_object_del (run, "entry");
    json_object_del (run, "seq");
    write_record ("outcome", json_pack ("{s:O}", "run", run));
    self->plans.others++;
    show_progress (&self->plans);
    return true;
}

// Write the outcomes that were not written yet.
static int write_history (struct everything_export *self)
{
    struct pages pages = {
        .word = "history",
        .filter = json_pack ("{sb ss*}", "output", 1, "after", *self->last ? self->last : NULL),
        .room = INT64_MAX,
        .take_item = handle_run,
        .owner = self};
    struct verdict verdict = pages_read (self->cli, self->client, &pages);
    return verdict_print (&verdict, NULL);
}

// -- plans

// Store the plan of an answer; `item` points to its place in `plans`.
static void on_answer (void *owner, void *item, int outcome, const struct zplan_reply *reply)
{
    struct plan_export *self = owner;
    struct reason reason;
    json_t **plan = item;
    struct verdict verdict = call_verdict (self->cli, outcome, reply);
    if (outcome == ZPLAN_OK && reply->status == ZERO_STATUS_NOT_FIND_ID)
        return;
    if (verdict.code == EXIT_DONE) {
        *plan = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
        if (!*plan)
            verdict = verdict_refused (reason.text);
    }
    if (verdict.code != EXIT_DONE)
        self->trouble = verdict;
}

bool plan_export_begin (struct plan_export *self, const struct cli *cli, const char *type,
                        int *ret_code)
{
    *self = (struct plan_export){.cli = cli, .type = type, .trouble = {.code = EXIT_DONE}};
    self->pipeline = pipeline_open (cli, on_answer, self, ret_code);
    if (self->pipeline)
        progress_start (&self->progress, "export", PROGRESS_LINES);
    return self->pipeline;
}

bool plan_export_flush (struct plan_export *self)
{
    bool responsive = true;
    for (size_t i = 0; i < self->count && responsive; i++) {
        char id[IDENT_SIZE];
        const char *args[] = {ident_text (self->ids[i], id)};
        responsive = pipeline_manage (self->pipeline, "message", args, 1, &self->plans[i]);
    }
    responsive = responsive && pipeline_drain (self->pipeline);
    for (size_t i = 0; i < self->count; i++) {
        json_t *plan = self->plans[i];
        if (!plan)
            continue;
        self->masked += has_masked_callback (plan);
        if (self->type)
            write_record (self->type, json_pack ("{s:O}", "plan", plan));
        else
            print_json_new (plan_object (plan));
        json_decref (plan);
        self->plans[i] = NULL;
        self->written++;
    }
    self->count = 0;
    show_progress (self);
    return responsive;
}

bool plan_export_add (void *plan_export, const json_t *plan)
{
    struct plan_export *self = plan_export;
    int64_t id;
    if (!json_get_integer (plan, "plan_id", 1, INT64_MAX, &id))
        return true;
    if (json_object_get (plan, "source")) {
        self->callbacks++;
        return true;
    }
    self->ids[self->count++] = (uint64_t)id;
    return self->count < PLAN_BATCH || plan_export_flush (self);
}

int plan_export_report (const struct plan_export *self)
{
    if (self->masked)
        fprintf (stderr,
                 "zplan: %" PRId64 " plans and kinds have masked URLs of callbacks, which `zplan "
                 "import` rejects: export with a key of the role manage\n",
                 self->masked);
    if (self->callbacks)
        fprintf (stderr,
                 "zplan: %" PRId64 " callbacks that are not delivered yet are left out: no other "
                 "station takes them\n",
                 self->callbacks);
    return self->masked ? EXIT_REFUSED : EXIT_DONE;
}

static bool handle_plan (struct pages *pages, json_t *plan)
{
    struct everything_export *self = pages->owner;
    return plan_export_add (&self->plans, plan) && self->plans.trouble.code == EXIT_DONE;
}

static int write_plans (struct everything_export *self)
{
    struct pages pages = {.word = "list",
                          .filter = json_object (),
                          .room = INT64_MAX,
                          .take_item = handle_plan,
                          .owner = self};
    struct verdict verdict = pages_read (self->cli, self->client, &pages);
    if (verdict.code == EXIT_DONE && self->plans.trouble.code == EXIT_DONE)
        plan_export_flush (&self->plans);
    const struct verdict *trouble = &self->plans.trouble;
    return verdict_print (trouble->code != EXIT_DONE ? trouble : &verdict, NULL);
}

// -- the export

static int write_head (struct everything_export *self)
{
    int code;
    json_t *stats =
        call_command (self->cli, self->client, (const char *[]){"stats", NULL}, NULL, &code);
    if (!stats)
        return code;
    json_t *seconds = json_integer (field_number (stats, "now_ms") / 1000);
    write_record ("everything",
                  json_pack ("{s:i, s:s, s:s, s:O*}", "format", EVERYTHING_FORMAT, "written",
                             time_rfc3339_text (seconds), "station", self->cli->connect, "version",
                             json_object_get (stats, "version")));
    json_decref (seconds);
    json_decref (stats);
    return EXIT_DONE;
}

// Write the last line, unless a flow could not be read. Returns an exit code.
static int write_end (const struct everything_export *self)
{
    if (self->unreadable)
        return complain (NULL,
                         span_text ("not all flows could be read: this is not all, and has no last "
                                    "line"));
    write_record ("end",
                  json_pack ("{s:I, s:I, s:I, s:I, s:I, s:I}", "targets", (json_int_t)self->targets,
                             "kinds", (json_int_t)self->kinds, "limits", (json_int_t)self->limits,
                             "flows", (json_int_t)self->flows, "outcomes",
                             (json_int_t)self->plans.others, "plans",
                             (json_int_t)self->plans.written));
    return EXIT_DONE;
}

int everything_export (const struct cli *cli)
{
    // Flows precede kinds: a definition comes with its kinds as they were then. If a kind existed
    // already at import, the definition would get that kind's current fields.
    static int (*const parts[]) (struct everything_export *
                                 self) = {write_head,   write_targets, write_flows, write_kinds,
                                          write_limits, write_history, write_plans, write_history};
    int code;
    struct everything_export self = {.cli = cli};
    self.client = call_open (cli, &code);
    if (self.client && plan_export_begin (&self.plans, cli, "plan", &code)) {
        code = EXIT_DONE;
        self.plans.progress.things = "plans and outcomes";
        for (size_t i = 0; i < sizeof parts / sizeof *parts && code == EXIT_DONE; i++)
            code = parts[i](&self);
        progress_clear (&self.plans.progress);
        if (code == EXIT_DONE)
            code = plan_export_report (&self.plans);
        if (code == EXIT_DONE)
            code = write_end (&self);
    }
    pipeline_destroy (&self.plans.pipeline);
    zplan_client_destroy (&self.client);
    return code;
}
