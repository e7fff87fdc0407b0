#include "plan_cells.h"

#include <string.h>

#include "status_names.h"
#include "outcomes.h"
#include "plan.h"
#include "print.h"
#include "schedule_text.h"
#include "text_table.h"
#include "zonefile.h"

void write_plan_name (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    struct span name = field_text (plan, "key");
    if (name.size)
        write_bytes (out, name);
    else
        fputs (id_hex_text (json_object_get (plan, "plan_id"), word), out);
}

// The plan's zone; NULL: unknown here. The last zone is cached, as consecutive plans mostly have
// the same one.
static const struct zone *zone_of (const json_t *plan)
{
    static struct zone *kept;
    static char name[ZONEFILE_NAME_SIZE];
    struct reason ignored;
    const char *wanted = json_string_value (json_object_get (plan, "timezone"));
    if (!wanted)
        wanted = "UTC"; // the default of zplan's options
    if (strlen (wanted) >= sizeof name)
        return NULL;
    if (strcmp (wanted, name) == 0)
        return kept;
    zone_destroy (&kept);
    memcpy (name, wanted, strlen (wanted) + 1);
    kept = zonefile_load (name, &ignored);
    return kept;
}

void write_plan_schedule (FILE *out, const json_t *plan)
{
    char text[SCHEDULE_TEXT_SIZE];
    write_bytes (out, span_text (schedule_text (plan, zone_of (plan), text)));
}

bool plan_waits (const json_t *plan)
{
    json_int_t state = field_number (plan, "plan_state");
    return state == PLAN_NONE || state == PLAN_QUEUE || state == PLAN_SKIP;
}

void write_plan_next (FILE *out, const json_t *plan)
{
    column_time (out, plan_waits (plan) ? json_object_get (plan, "plan_time") : NULL);
}

void write_plan_last (FILE *out, const json_t *plan)
{
    char word[WORD_SIZE];
    const json_t *status = json_last_status (plan);
    json_int_t state = field_number (plan, "plan_state");
    if (!status) {
        fputc ('-', out);
        return;
    }
    fputs (outcome_text (status, word), out);
    if (state != PLAN_EXECUTE) // else it would be the time of the run in progress
        fprintf (out, " %s", time_cell_text (json_object_get (plan, "exec_time"), word));
}
