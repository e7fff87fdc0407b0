#include "bulk.h"

#include <stdio.h>

#include "codes.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "plan_ref.h"
#include "print.h"

static const struct option rows[] = {
    FLAG_OPTION (struct bulk, all, "--all", "every plan of the station"),
    FLAG_OPTION (struct bulk, dry_run, "--dry-run", "only print which plans it would change"),
};

struct option_group bulk_options (struct bulk *self)
{
    return (struct option_group)OPTION_GROUP ("How", rows, self);
}

// -- the plans

static void add_plan (struct bulk *self, struct plan_id plan)
{
    self->plans = memory_grow (self->plans, self->count, &self->room, sizeof *self->plans);
    self->plans[self->count++] = plan;
}

static int check_which (const struct bulk *self, const struct option_group *which, int ids,
                        struct reason *reason)
{
    const char *given = options_given (which, 1);
    if (!given && self->all)
        given = "--all";
    if (ids > 0 && given)
        reason_set (reason, "plan ids and %s: want one or the other", given);
    else if (self->all && strcmp (given, "--all") != 0)
        reason_set (reason, "--all and %s: want one or the other", given);
    else if (ids == 0 && !given)
        reason_set (reason, "want plan ids, or a filter (%s, %s, %s, %s); --all means every plan",
                    which->rows[0].name, which->rows[1].name, which->rows[2].name,
                    which->rows[3].name);
    else
        return select_check (&self->selection, which, reason);
    return -1;
}

int bulk_read (struct bulk *self, const struct option_group *which, const struct cli *cli,
               int count, struct reason *reason)
{
    if (check_which (self, which, count, reason))
        return -1;
    for (int i = 1; i <= count; i++) {
        char ref[PLAN_REF_SIZE];
        uint64_t id = 0;
        if (plan_ref_read (cli->argv[i], ref, reason))
            return -1;
        ident_parse (span_text (ref), &id);
        add_plan (self, (struct plan_id){id, plan_ref_shown (cli->argv[i])});
    }
    return 0;
}

// -- one plan

int plan_command_report_rejection (struct plan_command *self, const char *id,
                                   const struct verdict *verdict)
{
    if (self->maybe_name && verdict->status == ZERO_STATUS_NOT_FIND_ID)
        return PLAN_COMMAND_UNKNOWN;
    progress_clear (&self->progress);
    self->refused += verdict->code == EXIT_REFUSED;
    self->stopped = verdict->code == EXIT_NO_ANSWER || verdict_is_common (verdict);
    if (self->cli->json && verdict->code == EXIT_REFUSED) {
        uint64_t ignored;
        struct span shown = span_text (plan_ref_shown (id));
        json_t *answer = json_pack ("{s:o}", ident_parse (shown, &ignored) ? "id" : "name",
                                    json_from_frame (shown));
        refusal_add_to (answer, self->cli, verdict);
        print_answer_new (self->cli, JSON_ANSWER, answer);
    }
    return verdict_print (verdict, plan_ref_shown (id));
}

static void report_changed_plan (const struct plan_command *self, const char *id,
                                 const struct zplan_reply *reply)
{
    struct reason reason;
    json_t *answer = NULL;
    if (self->cli->json || self->add_report)
        answer = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
    if (!self->cli->json) {
        print_between ("plan ", span_text (plan_ref_shown (id)), "");
        printf (" %s", self->done);
        if (self->add_report)
            self->add_report (answer, NULL);
        putchar ('\n');
        fflush (stdout); // if the program is interrupted, the completed plans were reported
        json_decref (answer);
        return;
    }
    struct span made = call_frame (reply, ZERO_FRAME_GLOBAL_ID);
    json_t *object = json_pack ("{s:o, s:s}", "id",
                                json_from_frame (plan_ref_is_name (id) ? made : span_text (id)),
                                "done", self->name);
    if (self->add_report)
        self->add_report (answer, object);
    else if (answer)
        json_object_set_new (object, "plan", plan_object (answer));
    print_answer_new (self->cli, JSON_ANSWER, object);
    json_decref (answer);
}

// Count a plan that needs no change, and print it with --json.
static void note_unchanged (struct plan_command *self, const char *id)
{
    self->already++;
    if (!self->cli->json)
        return; // the summary has the number of such plans
    print_answer_new (self->cli, JSON_ANSWER,
                      json_pack ("{s:s, s:s}", "id", id, "already", self->name));
}

static bool needs_no_change (const struct plan_command *self, const json_t *plan)
{
    int64_t state;
    return json_get_integer (plan, "plan_state", 0, 31, &state) && self->wanted >> state & 1;
}

// The plan, if its state needs no change: then the station rejected the command with an
// argument error only because nothing is left to do. Else NULL.
static json_t *read_plan_in_wanted_state (struct plan_command *self, const char *id,
                                          const struct verdict *verdict)
{
    struct verdict ignored;
    if (verdict->status != ZERO_STATUS_MANAGE_ARG_ERROR_ID || !self->wanted)
        return NULL;
    json_t *plan = call_command_quietly (self->cli, self->client,
                                         (const char *[]){"message", id, NULL}, &ignored);
    if (needs_no_change (self, plan))
        return plan;
    json_decref (plan);
    return NULL;
}

int plan_command_send (struct plan_command *self, const char *id, const char *argument)
{
    struct zplan_reply reply;
    const char *args[] = {id, argument};
    int outcome = zplan_client_manage (self->client, self->name, args, argument ? 2 : 1, &reply);
    struct verdict verdict = call_verdict (self->cli, outcome, &reply);
    if (verdict.code == EXIT_DONE) {
        report_changed_plan (self, id, &reply);
        self->count++;
        return EXIT_DONE;
    }
    if (self->selected && self->gone_is_wanted && verdict.status == ZERO_STATUS_NOT_FIND_ID) {
        note_unchanged (self, id);
        return EXIT_DONE;
    }
    json_t *plan = read_plan_in_wanted_state (self, id, &verdict);
    if (plan) {
        note_unchanged (self, id_hex_text (json_object_get (plan, "plan_id")));
        if (!self->cli->json && !self->selected) {
            print_between ("plan ", span_text (plan_ref_shown (id)), " already ");
            puts (state_plain_text (json_object_get (plan, "plan_state")));
        }
        json_decref (plan);
        return EXIT_DONE;
    }
    int code = plan_command_report_rejection (self, id, &verdict);
    if (code == EXIT_NO_ANSWER)
        fprintf (stderr, "zplan: it is not known whether plan %s was %s\n", plan_ref_shown (id),
                 self->done);
    return code;
}

json_t *plan_command_read_plan (struct plan_command *self, const char *id, int *ret_code)
{
    struct verdict verdict;
    json_t *plan = call_command_quietly (self->cli, self->client,
                                         (const char *[]){"message", id, NULL}, &verdict);
    if (!plan)
        *ret_code = plan_command_report_rejection (self, id, &verdict);
    return plan;
}

// -- all plans

// Call `apply` for each plan. Returns EXIT_DONE, EXIT_REFUSED if at least one was rejected, or
// EXIT_NO_ANSWER. Plans that were not tried are reported.
static int apply_to_each (struct plan_command *self)
{
    int code = EXIT_DONE;
    size_t count = self->bulk->count;
    for (size_t i = 0; i < count && !self->stopped; i++) {
        const struct plan_id *plan = &self->bulk->plans[i];
        char ref[PLAN_REF_SIZE], id[IDENT_SIZE];
        snprintf (ref, sizeof ref, "key:%s", plan->name ? plan->name : "");
        self->maybe_name = plan->id && plan->name;
        int result = self->apply (self, plan->id ? ident_text (plan->id, id) : ref);
        if (result == PLAN_COMMAND_UNKNOWN) {
            self->maybe_name = false;
            result = self->apply (self, ref);
        }
        if (result != EXIT_DONE)
            code = result;
        if (!self->stopped)
            progress_step (&self->progress, i + 1, count);
        else if (i + 1 < count)
            fprintf (stderr, "zplan: not tried after that: %zu more\n", count - i - 1);
    }
    progress_clear (&self->progress);
    return code;
}

// -- with --dry-run

static void preview_plan (const struct plan_command *command, const char *id, const json_t *plan)
{
    if (command->cli->json) {
        json_t *bare = plan_object (plan);
        json_object_del (bare, "messages");
        print_answer_new (command->cli, JSON_ANSWER,
                          json_pack ("{s:s, s:s, s:o}", "id",
                                     id_hex_text (json_object_get (plan, "plan_id")), "would",
                                     command->name, "plan", bare));
        return;
    }
    print_between ("plan ", span_text (plan_ref_shown (id)), "");
    printf (" would be %s: target ", command->done);
    print_bytes (field_text (plan, "station"));
    printf (", %s, title \"", state_plain_text (json_object_get (plan, "plan_state")));
    write_frame (stdout, json_object_get (plan, "description"));
    printf ("\"\n");
}

static int preview_one_plan (struct plan_command *command, const char *id)
{
    int code;
    json_t *plan = plan_command_read_plan (command, id, &code);
    if (!plan)
        return code;
    preview_plan (command, id, plan);
    json_decref (plan);
    return EXIT_DONE;
}

// -- execution

static bool handle_plan (void *owner, const json_t *plan)
{
    struct plan_command *self = owner;
    int64_t id;
    char text[IDENT_SIZE];
    if (!json_get_integer (plan, "plan_id", 1, INT64_MAX, &id)) {
        complain ("the station's answer", span_text ("a plan without an id is skipped"));
        return true;
    }
    ident_text ((uint64_t)id, text);
    if (needs_no_change (self, plan)) {
        note_unchanged (self, text);
        return true;
    }
    add_plan (self->bulk, (struct plan_id){.id = (uint64_t)id});
    if (self->bulk->dry_run)
        preview_plan (self, text, plan);
    progress_step (&self->progress, self->bulk->count, 0);
    return true;
}

// Apply the verb to the selected plans. All pages are read before any plan is changed, because a
// change may shift the pages.
static int apply_to_selected (struct plan_command *command)
{
    const struct bulk *bulk = command->bulk;
    command->selected = true;
    progress_start (&command->progress, command->name,
                    bulk->dry_run ? PROGRESS_LINES : PROGRESS_QUIET);
    struct verdict verdict = select_walk (
        command->cli, command->client, &bulk->selection,
        &(struct plan_visitor){.take = handle_plan, .owner = command, .room = INT64_MAX});
    progress_clear (&command->progress);
    bool none = bulk->count == 0 && command->already == 0;
    if (verdict.code == EXIT_DONE && none)
        complain (NULL, span_text ("no plan matches"));
    if (verdict.code != EXIT_DONE || bulk->dry_run)
        return verdict_print (&verdict, NULL);
    progress_start (&command->progress, command->name, PROGRESS_LINES);
    int code = apply_to_each (command);
    if (command->cli->json || none)
        return code; // with --json each plan has its own object
    printf ("%zu %s", command->count, command->done);
    if (command->already)
        printf (", %zu already", command->already);
    if (command->refused)
        printf (", %zu refused", command->refused);
    putchar ('\n');
    return code;
}

int bulk_apply (struct plan_command *command)
{
    int code;
    if (command->bulk->dry_run)
        command->apply = preview_one_plan;
    command->client = call_open (command->cli, &code);
    if (!command->client)
        return code;
    progress_start (&command->progress, command->name, PROGRESS_LINES);
    code = command->bulk->count ? apply_to_each (command) : apply_to_selected (command);
    zplan_client_destroy (&command->client);
    return code;
}
