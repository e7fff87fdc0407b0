#include "callback_drop.h"

#include <stdlib.h>

#include "callback_book.h"
#include "callback_state.h"
#include "clock.h"
#include "codes.h"
#include "memory.h"
#include "outcome.h"
#include "plan_json.h"

enum { PAGE = 100, AGAIN_US = 5000000, OLD_S = 30 * 86400 };

struct dropping {
    struct station *station;
    char source[STATION_NAME_MAX + 1]; // "" = drop those that are too old
    char member[STATION_NAME_MAX + 16];
    struct span members[1];
    struct store_filter filter;
    bool any; // some were dropped; else there is no point in retrying at once
};

// Record the drop and its reason in the history of callbacks.
static void record_drop (const struct dropping *self, const struct plan *callback)
{
    struct station *station = self->station;
    size_t size;
    struct outcome_record record = {
        .title = callback->description,
        .nominal = callback->plan_time,
        .status = ZERO_STATUS_CANCELLED_ID,
        .state = PLAN_CLOSE,
        .exec_id = callback->exec_id,
        .worker = callback->station,
        .reason = span_text (self->source[0] ? "dropped: too many callbacks of its source are kept"
                                             : "dropped: it had failed for good 30 days before")};
    char *text = store_record (&record, &size);
    store_callback_try (station->store, callback->id, callback->station, span_of (text, size));
    free (text);
}

static bool drop_callback (const struct dropping *self, const struct store_listed *listed)
{
    struct station *station = self->station;
    struct reason ignored;
    struct plan *callback = plan_from_stored_json (listed->plan_id, listed->message, &ignored);
    // It is not dropped if it is being retried or removed at this moment.
    bool drops = callback && store_drop_stopped (station->store, callback);
    if (drops) {
        callback_record_resolved (station, callback->id);
        callback_book_remove (station, callback);
        station->counters.dropped_callbacks++;
        record_drop (self, callback);
    }
    plan_destroy (&callback);
    return drops;
}

// Whether to drop a callback that stopped at this time.
static bool must_drop (const struct dropping *self, int64_t stopped_us)
{
    if (self->source[0])
        return callback_book_full (self->station, span_text (self->source));
    return stopped_us < (station_now (self->station) - OLD_S) * 1000000;
}

static void list_callbacks (struct dropping *self);

// List the callbacks that an operator resolved, after the failed ones.
static void list_resolved (struct dropping *self)
{
    self->filter.order = STORE_STOPPED;
    self->filter.state = PLAN_CLOSE;
    self->filter.after = 0;
    self->filter.after_us = 0;
    list_callbacks (self);
}

static void on_page (void *owner, const struct store_page *page)
{
    struct dropping *self = owner;
    struct station *station = self->station;
    size_t at = 0, dropped = 0;
    for (; page->result == STORE_DONE && at < page->count &&
           must_drop (self, page->plans[at].score_us);
         at++)
        dropped += drop_callback (self, &page->plans[at]);
    bool done = page->result == STORE_DONE;
    bool more = done && page->last && at == page->count && must_drop (self, page->last_us);
    self->any = self->any || dropped;
    if (dropped)
        link_flush (store_link (station->store));
    if (more) {
        self->filter.after = page->last;
        self->filter.after_us = page->last_us;
        list_callbacks (self);
    } else if (done && self->filter.order == STORE_DEAD && must_drop (self, 0)) {
        list_resolved (self);
    } else {
        station->dropping_us = self->any ? 0 : clock_mono_us () + AGAIN_US;
        free (self);
    }
}

static void list_callbacks (struct dropping *self)
{
    self->filter.after_station = self->station->settings->callback_target;
    store_list (self->station->store, &self->filter, on_page, self);
}

static void begin_drop (struct station *self, struct span source)
{
    struct dropping *dropping = memory_new (sizeof *dropping);
    dropping->station = self;
    dropping->filter = (struct store_filter){.order = STORE_DEAD,
                                             .oldest = true,
                                             .limit = PAGE,
                                             .station = self->settings->callback_target,
                                             .state = -1,
                                             .type = -1};
    if (source.size) {
        snprintf (dropping->source, sizeof dropping->source, "%.*s", (int)source.size,
                  (const char *)source.data);
        snprintf (dropping->member, sizeof dropping->member, "\"source\":\"%s\"", dropping->source);
        dropping->members[0] = span_text (dropping->member);
        dropping->filter.members = dropping->members;
        dropping->filter.member_count = 1;
    }
    self->dropping_us = INT64_MAX; // until it is done
    list_callbacks (dropping);
}

void callback_drop_full (struct station *self, struct span source)
{
    if (callback_book_full (self, source) && clock_mono_us () >= self->dropping_us)
        begin_drop (self, source);
}

void callback_drop_old (struct station *self)
{
    if (self->dropping_us != INT64_MAX && self->callbacks)
        begin_drop (self, (struct span){0});
}
