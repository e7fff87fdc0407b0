// The station's numbers of the last 24 hours, which this program reads each 10 s.
#include "api.h"
#include "clock.h"
#include "query.h"
#include "series.h"
#include "server.h"

static void on_stats (void *owner, const struct station_answer *answer)
{
    const struct server *server = owner;
    if (answer->error == ZPLAN_OK && json_is_object (answer->json))
        series_add (server->series, clock_wall_us () / 1000000, answer->json);
}

static void on_timer (void *owner)
{
    static const struct question question = {.command = "stats", .deadline_ms = GATEWAY_SOON_MS};
    struct server *server = owner;
    timer_set (&server->series_timer, server->reactor, SERIES_STEP_S * 1000);
    gateway_ask (server->gateway, &question, on_stats, server);
}

void api_series_start (struct server *server)
{
    server->series = series_new ();
    server->series_timer = (struct timer){.call = on_timer, .owner = server};
    timer_set (&server->series_timer, server->reactor, 0);
}

void api_series_end (struct server *server)
{
    timer_end (&server->series_timer);
    series_destroy (&server->series);
}

static void answer_series (struct exchange *self)
{
    struct reason reason;
    int64_t now_s = clock_wall_us () / 1000000, from_s = now_s - 24 * 3600, step_s;
    const char *text = request_target_field (&self->target, "from");
    int rc = query_number (&self->target, "step", SERIES_STEP_S, SERIES_STEP_MAX_S, 60, &step_s,
                           &reason);
    if (rc == 0 && step_s % SERIES_STEP_S) {
        reason_set (&reason, "step: want a multiple of %d", SERIES_STEP_S);
        rc = -1;
    }
    if (rc == 0 && text)
        rc = query_instant ("from", text, &from_s, &reason);
    if (rc)
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
    else
        exchange_answer_json (self, 200, series_json (self->server->series, now_s, from_s, step_s));
}

void api_series (struct exchange *self)
{
    api_ask_observer (self, answer_series);
}
