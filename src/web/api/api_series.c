// The station's numbers of the last 24 hours, which this program reads each 10 s.
#include "api.h"
#include "clock.h"
#include "memory.h"
#include "query.h"
#include "series.h"
#include "server.h"

struct recorder {
    struct server *server;
    struct series *series;
    struct timer timer;
};

static void on_stats (void *owner, const struct station_answer *answer)
{
    const struct recorder *self = owner;
    if (answer->error == ZPLAN_OK && json_is_object (answer->json))
        series_add (self->series, clock_wall_us () / 1000000, answer->json);
}

static void on_timer (void *owner)
{
    static const struct question question = {.word = "stats", .deadline_ms = GATEWAY_SOON_MS};
    struct recorder *self = owner;
    timer_set (&self->timer, self->server->reactor, SERIES_STEP_S * 1000);
    gateway_ask (self->server->gateway, &question, on_stats, self);
}

struct recorder *recorder_new (struct server *server)
{
    struct recorder *self = memory_new (sizeof *self);
    self->server = server;
    self->series = series_new ();
    self->timer = (struct timer){.call = on_timer, .owner = self};
    timer_set (&self->timer, server->reactor, 0);
    return self;
}

void recorder_destroy (struct recorder **self_p)
{
    if (*self_p) {
        timer_end (&(*self_p)->timer);
        series_destroy (&(*self_p)->series);
    }
    free (*self_p);
    *self_p = NULL;
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
        exchange_json (self, 200,
                       series_json (self->server->recorder->series, now_s, from_s, step_s));
}

void api_series (struct exchange *self)
{
    api_ask_observer (self, answer_series);
}
