#include "bulk.h"

#include <stdio.h>

#include "ident.h"
#include "json.h"
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

int bulk_check (const struct bulk *self, const struct option_group *which, int ids,
                struct reason *reason)
{
    const char *given = options_given (which);
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

// -- with --dry-run

static void preview_plan (const struct plan_command *command, const char *id, const json_t *plan)
{
    char state[WORD_SIZE];
    if (command->cli->json) {
        json_t *bare = plan_object (plan);
        json_object_del (bare, "messages");
        print_answer_new (command->cli, JSON_ANSWER,
                          json_pack ("{s:s, s:s, s:o}", "id",
                                     id_hex_text (json_object_get (plan, "plan_id"), state),
                                     "would", command->name, "plan", bare));
        return;
    }
    print_between ("plan ", span_text (plan_ref_shown (id)), "");
    printf (" would be %s: target ", command->done);
    print_bytes (field_text (plan, "station"));
    printf (", %s, title \"", state_plain_text (json_object_get (plan, "plan_state"), state));
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

// The plans that the filter selects, and what to do with them.
struct collecting {
    struct plan_command *command;
    struct plan_ids *ids;
    bool dry_run;
};

static bool needs_no_change (const struct plan_command *command, const json_t *plan)
{
    int64_t state;
    return json_get_integer (plan, "plan_state", 0, 31, &state) && command->wanted >> state & 1;
}

static bool handle_plan (void *owner, const json_t *plan)
{
    struct collecting *self = owner;
    int64_t id;
    char text[IDENT_SIZE];
    if (!json_get_integer (plan, "plan_id", 1, INT64_MAX, &id)) {
        complain ("the station's answer", span_text ("a plan without an id is skipped"));
        return true;
    }
    ident_text ((uint64_t)id, text);
    if (needs_no_change (self->command, plan)) {
        plan_command_note_unchanged (self->command, text);
        return true;
    }
    plan_ids_add (self->ids, (uint64_t)id);
    if (self->dry_run)
        preview_plan (self->command, text, plan);
    progress_step (&self->command->progress, self->ids->count, 0);
    return true;
}

static void print_totals (const struct plan_command *command)
{
    if (command->cli->json)
        return; // with --json each plan has its own object
    printf ("%zu %s", command->count, command->done);
    if (command->already)
        printf (", %zu already", command->already);
    if (command->refused)
        printf (", %zu refused", command->refused);
    putchar ('\n');
}

// Apply the verb to the selected plans. All pages are read before any plan is changed, because a
// change may shift the pages.
static int apply_to_selected (struct plan_command *command, const struct bulk *self,
                              struct plan_ids *ids)
{
    command->selected = true;
    struct collecting collecting = {command, ids, self->dry_run};
    progress_start (&command->progress, command->name,
                    self->dry_run ? PROGRESS_LINES : PROGRESS_QUIET);
    struct verdict verdict = select_walk (
        command->cli, command->client, &self->selection,
        &(struct selected){.take = handle_plan, .owner = &collecting, .room = INT64_MAX});
    progress_clear (&command->progress);
    if (verdict.code == EXIT_DONE && ids->count == 0 && command->already == 0)
        complain (NULL, span_text ("no plan matches"));
    if (verdict.code != EXIT_DONE || self->dry_run)
        return verdict_print (&verdict, NULL);
    progress_start (&command->progress, command->name, PROGRESS_LINES);
    int code = plan_command_each (command, ids);
    if (ids->count > 0 || command->already > 0)
        print_totals (command);
    return code;
}

int bulk_apply (struct plan_command *command, const struct bulk *self, struct plan_ids *ids)
{
    if (self->dry_run)
        command->apply = preview_one_plan;
    progress_start (&command->progress, command->name, PROGRESS_LINES);
    return ids->count ? plan_command_each (command, ids) : apply_to_selected (command, self, ids);
}
