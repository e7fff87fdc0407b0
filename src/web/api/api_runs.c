// Runs in the history.
#include <inttypes.h>
#include <stdio.h>

#include "api.h"
#include "json.h"
#include "json_names.h"
#include "settings.h"

void api_runs (struct exchange *self)
{
    static const struct api_page page = {'h', "runs", JSON_RUN};
    json_t *filter = json_object ();
    if (self->routed.route == &routes[ROUTE_PLAN_RUNS])
        json_object_set_new (filter, "plan", json_string (self->routed.args[0]));
    api_ask_page (self, &page, filter);
}

// -- forget

static void on_forgotten (struct exchange *self, const struct station_answer *answer)
{
    exchange_answer_json (self, 200, json_incref ((json_t *)(uintptr_t)answer->json));
}

void api_forget (struct exchange *self)
{
    json_t *target = json_object_get (self->json, "target");
    if (!json_is_object (self->json)) {
        exchange_problem (self, 422, "invalid_field", "want a JSON object");
        return;
    }
    if (target) {
        json_object_set (self->json, "station", target);
        json_object_del (self->json, "target");
    }
    exchange_ask (self, on_forgotten, exchange_own_block (self, json_write (self->json)), NULL);
}

// -- one run

static void on_run (struct exchange *self, const struct station_answer *answer)
{
    const char *epoch = request_target_field (&self->target, "epoch");
    const char *now = json_string_value (json_object_get (answer->json, "epoch"));
    const json_t *run = json_array_get (json_object_get (answer->json, "runs"), 0);
    const char *entry = json_string_value (json_object_get (run, "entry"));
    if (epoch && (!now || strcmp (epoch, now) != 0)) {
        exchange_problem (self, 410, "other_epoch", "the station restarted its numbering of runs");
    } else if (!entry || strcmp (entry, self->routed.args[0]) != 0) {
        exchange_problem (self, 404, "not_find", "the history has no such run");
    } else {
        json_t *body = json_names (JSON_RUN, run);
        json_object_set_new (body, "epoch", json_string (now ? now : ""));
        exchange_answer_json (self, 200, body);
    }
}

// Answer with the run SEQ-K: it is the first one after the cursor SEQ-(K+1), newest first.
void api_run (struct exchange *self)
{
    const char *entry = self->routed.args[0], *dash = strchr (entry, '-');
    char seq[24] = "", text[80];
    int64_t first, second;
    if (dash && dash - entry < (int)sizeof seq)
        snprintf (seq, sizeof seq, "%.*s", (int)(dash - entry), entry);
    if (!number_parse (seq, &first) || first < 0 || !number_parse (dash + 1, &second) ||
        second < 0 || second == INT64_MAX) {
        exchange_problem (self, 404, "not_find", "a run is named as 8-0");
        return;
    }
    snprintf (text, sizeof text, "%" PRId64 "-%" PRId64, first, second + 1);
    json_t *filter =
        json_pack ("{s:s, s:b, s:i, s:b}", "after", text, "newest", 1, "limit", 1, "output", 1);
    exchange_ask (self, on_run, exchange_own_block (self, json_write (filter)), NULL);
    json_decref (filter);
}
