#include "output_runs.h"

#include <stdio.h>

#include "codes.h"
#include "pages.h"
#include "plan_ref.h"

static bool handle_run (struct pages *self, json_t *run)
{
    if (json_integer_value (json_object_get (run, "status")) == ZERO_STATUS_MISSED_ID)
        return true;
    json_array_insert (self->owner, 0, run);
    return --self->room > 0;
}

static json_t *request_output_runs (const struct cli *cli, struct zplan_client *client,
                                    int64_t count, const char *plan, int *ret_code)
{
    json_t *found = json_array ();
    struct pages pages = {.word = "history",
                          .filter =
                              json_pack ("{ss sb sb}", "plan", plan, "output", 1, "newest", 1),
                          .room = count,
                          .take_item = handle_run,
                          .owner = found};
    struct verdict verdict = pages_read (cli, client, &pages);
    *ret_code = verdict_print (&verdict, NULL);
    if (*ret_code == EXIT_DONE)
        return found;
    json_decref (found);
    return NULL;
}

json_t *output_runs (const struct cli *cli, struct zplan_client *client, int64_t count, char *plan,
                     int *ret_code)
{
    char name[PLAN_REF_SIZE];
    json_t *found = request_output_runs (cli, client, count, plan, ret_code);
    // An id without runs may be a name: try that.
    if (found && json_array_size (found) == 0 && plan_ref_as_name (cli, plan, name)) {
        json_decref (found);
        found = request_output_runs (cli, client, count, name, ret_code);
        if (found && json_array_size (found))
            snprintf (plan, PLAN_REF_SIZE, "%s", name);
    }
    return found;
}
