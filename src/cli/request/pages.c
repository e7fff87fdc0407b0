#include "pages.h"

#include <stdio.h>

#include "codes.h"
#include "plan_ref.h"
#include "print.h"

enum { PAGES_MAX = 10000000 };

// Set the filter to the next page. False: there is none, or, with an error in `verdict`, the
// station returned the same position again, which would be an endless loop.
static bool pages_advance (struct pages *self, const json_t *page, struct verdict *verdict)
{
    json_t *next = json_object_get (page, "next");
    if (!json_is_string (next))
        return false;
    if (json_equal (next, json_object_get (self->filter, "after"))) {
        struct reason reason;
        reason_set (&reason, "the %s has two pages that begin after %s", self->word,
                    quoted (span_of (json_string_value (next), json_string_length (next))));
        *verdict = verdict_refused (reason.text);
        return false;
    }
    json_object_set (self->filter, "after", next);
    return true;
}

// Pass a page on. False: stop.
static bool pass_page (struct pages *self, const json_t *page)
{
    size_t i;
    json_t *item;
    const char *items = strcmp (self->word, "list") == 0 ? "plans" : "runs";
    bool more = !self->take || self->take (self, page);
    json_array_foreach (json_object_get (page, items), i, item)
    {
        more = more && (!self->take_item || self->take_item (self, item));
    }
    return more;
}

struct verdict pages_read (const struct cli *cli, struct zplan_client *client, struct pages *self)
{
    struct verdict verdict;
    bool more = true;
    for (int64_t pages = 0; more && pages < PAGES_MAX; pages++) {
        int64_t size = self->size ? self->size : PAGE_SIZE;
        int64_t limit = self->room < size ? self->room : size;
        json_object_set_new (self->filter, "limit", json_integer (limit));
        json_t *page =
            call_with_filter (cli, client, self->word, json_incref (self->filter), &verdict);
        more = page && pass_page (self, page) && self->room > 0 &&
               pages_advance (self, page, &verdict);
        json_decref (page);
    }
    json_decref (self->filter);
    return more ? verdict_refused ("the pages have no end") : verdict;
}

// -- the output of runs

static bool handle_run (struct pages *self, json_t *run)
{
    if (field_number (run, "status") == ZERO_STATUS_MISSED_ID)
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
