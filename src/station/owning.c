#include "owning.h"

#include <stdio.h>

#include "prefetch.h"
#include "presence.h"
#include "callback_book.h"
#include "clock.h"
#include "due.h"
#include "failpoint.h"
#include "flow_book.h"
#include "forward.h"
#include "frontend.h"
#include "log.h"
#include "notify.h"
#include "redis_info.h"
#include "redis_process.h"
#include "sockets.h"
#include "targets.h"

enum { STANDBY_US = 300000 }; // this long without the plans: another station owns them

void owning_serve (struct station *self)
{
    targets_start (self);
    if (!sockets_bind_request (self))
        return; // the caller retries
    self->phase = PHASE_SERVING;
    frontend_open (self);
    due_wake (self);
    log_event (LEVEL_INFO, "station.ready", "request=%s publish=%s events=%s redis=%s fsync=%s",
               self->settings->request, self->settings->publish, self->settings->events,
               link_state_name (link_state (store_link (self->store))),
               link_fsync (store_link (self->store)));
    puts ("ready");
    fflush (stdout);
    notify_ready ();
    if (station_store_up (self))
        notify_status ("serving");
}

void owning_report_redis_down (struct station *self, const char *trouble)
{
    if (strcmp (self->logged_trouble.text, trouble) == 0)
        return;
    reason_set (&self->logged_trouble, "%s", trouble);
    log_event (LEVEL_WARN, "redis.down", "reason=%s", quoted (span_text (trouble)));
    char words[sizeof self->logged_trouble.text + sizeof "Redis is away: "];
    snprintf (words, sizeof words, "Redis is away: %s", trouble);
    notify_status (words);
}

static void handle_redis_up (struct station *self)
{
    const char *fsync = link_fsync (store_link (self->store));
    self->logged_trouble.text[0] = '\0';
    self->respawn_delay_us = REDIS_RESPAWN_FIRST_US;
    if (self->embedded)
        embedded_up (self->embedded);
    log_event (LEVEL_INFO, "redis.up", "fsync=%s acknowledged=\"%s\"", fsync,
               durability_text (fsync));
    if (self->phase == PHASE_STANDBY)
        notify_status ("standby");
}

// Handle the end of the conversion of the data to the previous version: stop, as there is nothing
// to serve.
static void on_schema_converted (void *owner, enum store_result result, const char *error)
{
    struct station *self = owner;
    if (result != STORE_DONE) {
        station_fail (self, error);
    } else {
        log_event (LEVEL_INFO, "schema.former", "schema=%d", STORE_SCHEMA_FORMER);
        self->phase = PHASE_STOPPING;
        self->releasing_plans = true;
    }
    reactor_stop (self->reactor);
}

// Start to serve: this station owns the plans and has loaded what it needs to know about them.
static void take_ownership (struct station *self)
{
    if (!self->owner_since) {
        self->owner_since = clock_wall_us () / 1000000;
        self->owned_us = store_now_us (self->store);
    }
    if (self->settings->schema == STORE_SCHEMA_FORMER) {
        store_downgrade (self->store, on_schema_converted, self);
        return;
    }
    targets_start (self);
    callback_book_load (self);
    flow_book_load (self, targets_load);
    presence_send_then (self, NULL, NULL);
    if (self->phase == PHASE_STARTING || self->phase == PHASE_STANDBY) {
        FAILPOINT ("boot_store");
        return;
    }
    targets_wake (self);
    due_wake (self);
    notify_status ("serving");
}

// Stop serving: another station owns the plans, or may take them over.
static void stop_serving (struct station *self)
{
    log_event (
        self->phase == PHASE_STOPPING ? LEVEL_INFO : LEVEL_WARN, "owner.lost", "reason=\"%s\"",
        self->phase == PHASE_STOPPING ? "the plans were handed over" : "another station took over");
    if (self->phase != PHASE_STOPPING || self->yields) {
        self->phase = PHASE_FENCED;
        forward_begin (self);
    }
    reactor_stop (self->reactor);
}

void owning_handle_store_state (void *owner, enum store_state state)
{
    struct station *self = owner;
    const char *trouble = link_trouble (store_link (self->store));
    bool started = self->phase == PHASE_SERVING || self->phase == PHASE_STANDBY;
    if (state == STORE_STANDBY)
        handle_redis_up (self);
    else if (state == STORE_LOADING)
        prefetch_drop_all (self);
    else if (state == STORE_SERVING)
        take_ownership (self);
    else if (state == STORE_FENCED)
        stop_serving (self);
    else if (state == STORE_REFUSED && self->phase == PHASE_STARTING && !self->was_owner)
        station_fail (self, trouble);
    else if ((state == STORE_REFUSED || state == STORE_AWAY) && started)
        owning_report_redis_down (self, trouble);
}

void station_targets_read (struct station *self)
{
    self->targets_read = true;
    if (self->phase == PHASE_STARTING || self->phase == PHASE_STANDBY)
        owning_serve (self);
    else
        due_wake (self);
}

static void become_standby (struct station *self)
{
    self->phase = PHASE_STANDBY;
    frontend_close_socket (self);
    log_event (LEVEL_INFO, "station.standby", "publish=%s events=%s", self->settings->publish,
               self->settings->events);
    puts ("standby");
    fflush (stdout);
    notify_ready ();
    notify_status ("standby");
}

void owning_watch (struct station *self, int64_t now_us)
{
    bool waits = store_state (self->store) == STORE_STANDBY && !store_owns (self->store);
    const char *trouble = waits ? store_trouble (self->store) : "";
    if (*trouble)
        owning_report_redis_down (self, trouble); // the owner cannot be determined
    if (!waits)
        self->waits_us = 0;
    else if (!self->waits_us)
        self->waits_us = now_us;
    else if (now_us - self->waits_us > STANDBY_US && self->phase == PHASE_STARTING)
        become_standby (self);
    else if (now_us - self->waits_us > STANDBY_US && self->phase == PHASE_SERVING &&
             !self->owner_since)
        stop_serving (self); // this station began to serve while Redis was away
}
