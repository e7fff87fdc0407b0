// list: a page of plans.
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "codes.h"
#include "dialect.h"
#include "json.h"
#include "json_scan.h"
#include "manage_private.h"
#include "plan_json.h"
#include "plan_public.h"
#include "memory.h"
#include "permit.h"
#include "publish.h"
#include "reads.h"
#include "runs.h"
#include "stored_text.h"

enum {
    PAGE_DEFAULT = 100,
    PAGE_MAX = 1000,
    PLAN_TYPICAL_SIZE = 512, // typical bytes of a plan in a page
    // A match costs up to pattern times title size: both are bounded, as is the number of matches.
    TITLES_PER_PAGE = 150,
    PATTERN_MAX = 64,
    // Longer commands are omitted, as a page may have a thousand plans.
    COMMAND_MAX = 256,
    // A name and its value as JSON text, where a byte may take six.
    MEMBER_SIZE = 6 * PLAN_WORDS_MAX + 32,
    PLACE_SIZE = 24 + STATION_NAME_MAX + IDENT_SIZE
};

struct list_filter {
    struct store_filter store; // its station points to `station`
    int64_t limit;             // plans in a page; a filter by title reads more
    char station[STATION_NAME_MAX + 1];
    char after[PLACE_SIZE], after_station[STATION_NAME_MAX + 1];
    char title[PATTERN_MAX + 1]; // glob; empty = any
    char members[STORE_MEMBERS_MAX][MEMBER_SIZE];
    size_t member_count;
};

struct plan_listing {
    struct station *station;
    struct peer *peer;
    struct list_filter filter;
    bool for_monitor; // for MicroZero's monitor: one array of all plans that it may see, in STATUS
};

// -- the filter

static const char *const orders[STORE_ORDERS] = {[STORE_BY_ID] = "id",
                                                 [STORE_BY_TIME] = "time",
                                                 [STORE_RUNNING] = "running",
                                                 [STORE_STOPPED] = "stopped",
                                                 [STORE_DEAD] = "dead"};

// Copy the place where the page starts. Its meaning depends on the order: parse_place.
static bool read_after (void *filter, const json_t *value)
{
    struct list_filter *self = filter;
    if (json_is_integer (value) && json_integer_value (value) > 0) {
        ident_text ((uint64_t)json_integer_value (value), self->after);
        return true;
    }
    return copy_json_text (value, self->after, sizeof self->after) && self->after[0];
}

static bool orders_by_place (const struct store_filter *filter)
{
    return filter->order != STORE_BY_ID && filter->order != STORE_RUNNING;
}

// Parse that place: "US:STATION:ID", or an id. False: invalid.
static bool parse_place (struct list_filter *self)
{
    const char *station = strchr (self->after, ':'), *id = strrchr (self->after, ':');
    if (!self->after[0])
        return true;
    if (!orders_by_place (&self->store))
        return ident_parse (span_text (self->after), &self->store.after);
    size_t size = station && id > station ? (size_t)(id - station - 1) : 0;
    if (!size || size > STATION_NAME_MAX)
        return false;
    memcpy (self->after_station, station + 1, size);
    self->store.after_station = self->after_station;
    return station_name_valid (span_text (self->after_station)) &&
           argument_number (span_of (self->after, (size_t)(station - self->after)), 0, INT64_MAX,
                            &self->store.after_us) &&
           ident_parse (span_text (id + 1), &self->store.after);
}

// Read a name that `parse` knows, or its number.
static bool read_enum (const json_t *value, int (*parse) (const char *name), int count, int *ret)
{
    json_int_t number = json_integer_value (value);
    if (json_is_string (value))
        number = parse (json_string_value (value));
    else if (!json_is_integer (value))
        return false;
    if (number < 0 || number >= count)
        return false;
    *ret = (int)number;
    return true;
}

static bool read_state (void *filter, const json_t *value)
{
    struct list_filter *self = filter;
    return read_enum (value, plan_state_parse, PLAN_STATES, &self->store.state);
}

static bool read_type (void *filter, const json_t *value)
{
    struct list_filter *self = filter;
    return read_enum (value, schedule_type_parse, SCHEDULE_TYPES, &self->store.type);
}

// Add a member that the plan must have, written as in the stored text.
static bool add_member (struct list_filter *self, const char *name, const json_t *value)
{
    return self->member_count < STORE_MEMBERS_MAX &&
           stored_member_text (name, value, self->members[self->member_count++], MEMBER_SIZE);
}

static bool is_text_or_integer (const json_t *value)
{
    return json_is_string (value) || json_is_integer (value);
}

MEMBER_READER (tenant, is_text_or_integer)
MEMBER_READER (creator, is_text_or_integer)
MEMBER_READER (category, json_is_string)
MEMBER_READER (kind, json_is_string)
MEMBER_READER (key, json_is_string)
MEMBER_READER (group, json_is_string)
MEMBER_READER (remark, json_is_string)

static bool add_number (struct list_filter *self, const char *name, int value)
{
    json_t *number = json_integer (value);
    bool added = add_member (self, name, number);
    json_decref (number);
    return added;
}

static bool read_verdict (void *filter, const json_t *value)
{
    int verdict;
    return read_enum (value, plan_verdict_parse, VERDICTS, &verdict) && verdict &&
           add_number (filter, "verdict", verdict);
}

static bool read_held (void *filter, const json_t *value)
{
    return json_is_true (value) && add_number (filter, "held", 1);
}

static const char after_rule[] = "want the next of the previous page, in the same order";

#define FIELD(name) offsetof (struct list_filter, name)

static const struct json_field fields[] = {
    {"order", AS_WORD, FIELD (store.order), 0, STORE_ORDERS, .words = orders},
    {"after", .rule = after_rule, .read = read_after},
    {"limit", AS_NUMBER, FIELD (limit), 1, PAGE_MAX},
    {"station", AS_TEXT, FIELD (station), 1, STATION_NAME_MAX, "want a target's name"},
    {"title", AS_TEXT, FIELD (title), 1, PATTERN_MAX, "want a pattern of 1 to 64 bytes"},
    {"state", .rule = "want none, queue, execute, retry, skip, pause, error or close",
     .read = read_state},
    {"type", .rule = "want " SCHEDULE_TYPE_NAMES (", "), .read = read_type},
    {"tenant", .rule = "want an integer, or a string of at most 512 bytes", .read = read_tenant},
    {"category", .rule = "want a string of at most 512 bytes", .read = read_category},
    {"creator", .rule = "want an integer, or a string of at most 512 bytes", .read = read_creator},
    {"kind", .rule = "want a string of at most 512 bytes", .read = read_kind},
    {"key", .rule = "want a string of at most 512 bytes", .read = read_key},
    {"group", .rule = "want a string of at most 512 bytes", .read = read_group},
    {"remark", .rule = "want a string of at most 512 bytes", .read = read_remark},
    {"verdict", .rule = "want failure, pending, manual or cancelled", .read = read_verdict},
    {"held", .rule = "want true", .read = read_held},
    {"flow_run", AS_IDENT, FIELD (store.flow_run),
     .rule = "want the number of a run as an integer or in hex"},
    {"from", AS_NUMBER, FIELD (store.from_s), 1, SCHEDULE_TIME_MAX, "want Unix seconds"},
    {"to", AS_NUMBER, FIELD (store.to_s), 1, SCHEDULE_TIME_MAX, "want Unix seconds"},
};

static bool read_filter (struct span text, struct list_filter *ret, struct reason *reason)
{
    *ret = (struct list_filter){.store = {.state = -1, .type = -1}, .limit = PAGE_DEFAULT};
    if (text.size == 0)
        return true;
    bool good = json_fields_parse (text, fields, sizeof fields / sizeof *fields, ret, reason);
    if (good && (ret->store.from_s || ret->store.to_s) && ret->store.order != STORE_BY_TIME)
        return reason_reject (reason, "from, to: go with the order time only");
    if (good && !parse_place (ret))
        return reason_reject (reason, "after: %s", after_rule);
    return good;
}

// -- the page

// The place where the next page begins. Source: proto 9.3.
static json_t *next_place_json (const struct store_filter *filter, const struct store_listed *last)
{
    char id[IDENT_SIZE];
    ident_text (last->plan_id, id);
    return orders_by_place (filter)
               ? json_sprintf ("%" PRId64 ":%.*s:%s", last->score_us, (int)last->station.size,
                               (const char *)last->station.data, id)
               : json_string (id);
}

// Whether the plan's title matches the pattern of the filter; true without a pattern.
static bool matches_title (const struct list_filter *filter, struct span plan)
{
    size_t from = 0, size;
    if (!filter->title[0])
        return true;
    const uint8_t *at = message_value (plan, "description", &from);
    size_t left = at ? (size_t)(plan.data + plan.size - at) : 0;
    struct json_scan scan = json_scan_of (span_of (at, left));
    char *title = memory_new (left + 1);
    bool found = json_scan_string (&scan, (uint8_t *)title, &size);
    title[found ? size : 0] = '\0';
    found = found && fnmatch (filter->title, title, 0) == 0;
    free (title);
    return found;
}

static bool permits_listed (const struct plan_listing *listing, const struct store_listed *listed)
{
    return permits_plan (listing->station, listing->peer->user, listed->station, listed->message);
}

// Write a stored plan as an item of the list. False: it is invalid or does not match the filter.
static bool write_listed (const struct plan_listing *listing, const struct store_listed *listed,
                          struct json_text *text)
{
    static const struct json_name progress_name = JSON_NAME ("progress");
    if (!permits_listed (listing, listed) || !matches_title (&listing->filter, listed->message) ||
        !plan_write_public (listed->plan_id, listed->message, COMMAND_MAX, text))
        return false;
    // The progress that a worker reported for the plan's current run.
    const struct active_run *active = runs_find (listing->station, listed->plan_id);
    if (active && active->progress && active->run.exec_id == message_exec_id (listed->message) &&
        message_number (listed->message, "plan_state") == PLAN_EXECUTE) {
        json_text_name (text, &progress_name);
        json_text_frame (text, span_text (active->progress));
    }
    json_text_raw (text, span_text ("}"));
    return true;
}

// Find the last place of the page; plan_id 0: it is the last page. False: the key is bound to
// targets and may see no plan of the page, so that the place is hidden as well.
static bool last_visible_place (const struct plan_listing *listing, const struct store_page *page,
                                struct store_listed *ret)
{
    *ret = (struct store_listed){
        .plan_id = page->last, .score_us = page->last_us, .station = page->last_station};
    if (!page->last || permits_all_stations (listing->station, listing->peer->user))
        return true;
    for (size_t i = page->count; i--;) {
        if (permits_listed (listing, &page->plans[i])) {
            *ret = page->plans[i];
            return true;
        }
    }
    return false;
}

static char *page_json (const struct plan_listing *listing, const struct store_page *page,
                        struct store_listed last)
{
    const struct list_filter *filter = &listing->filter;
    struct json_text text;
    size_t size;
    int64_t count = 0;
    json_text_start (&text, page->count * PLAN_TYPICAL_SIZE);
    json_text_raw (&text, span_text ("{\"plans\":["));
    for (size_t i = 0; i < page->count; i++) {
        count += write_listed (listing, &page->plans[i], &text);
        // The page is full before all plans were used: the next page continues from here.
        if (count == filter->limit && i + 1 < page->count) {
            last = page->plans[i];
            break;
        }
    }
    json_text_raw (&text, span_text ("]"));
    if (last.plan_id) {
        json_t *place = next_place_json (&filter->store, &last);
        json_text_member (&text, "next", place);
        json_decref (place);
    }
    json_text_raw (&text, span_text ("}"));
    return json_text_end (&text, &size);
}

static char *monitor_json (const struct plan_listing *listing, const struct store_page *page)
{
    json_t *plans = json_array ();
    for (size_t i = 0; i < page->count; i++) {
        const struct store_listed *listed = &page->plans[i];
        struct reason reason;
        struct plan *plan = NULL;
        if (permits_listed (listing, listed))
            plan = plan_from_stored_json (listed->plan_id, listed->message, &reason);
        if (plan)
            json_array_append_new (
                plans, publish_monitor_plan (listing->station, plan, plan_command (plan)));
        plan_destroy (&plan);
    }
    char *text = json_write (plans);
    json_decref (plans);
    return text;
}

static void reply_page (const struct plan_listing *listing, const struct store_page *page,
                        struct store_listed last)
{
    char *json = page_json (listing, page, last);
    char *text = listing->for_monitor ? monitor_json (listing, page) : NULL;
    reply_send (
        listing->station, listing->peer,
        &(struct reply){.status = ZERO_STATUS_OK_ID, .reason = "", .text = text, .json = json});
    free (text);
    free (json);
}

static void ask_page (void *owner);

static void on_listed (void *owner, const struct store_page *page)
{
    struct plan_listing *listing = owner;
    struct list_filter *filter = &listing->filter;
    struct store_listed last;
    if (page->result == STORE_DONE && !last_visible_place (listing, page, &last)) {
        filter->store.after = last.plan_id;
        filter->store.after_us = last.score_us;
        filter->store.after_station = filter->after_station;
        filter->after_station[span_put (filter->after_station, 0, last.station)] = '\0';
        ask_page (listing);
        return;
    }
    if (page->result == STORE_DONE)
        reply_page (listing, page, last);
    else
        reply_refuse_store (listing->station, listing->peer, page->result, page->error);
    free (listing);
}

static void ask_page (void *owner)
{
    struct plan_listing *listing = owner;
    struct list_filter *filter = &listing->filter;
    struct span members[STORE_MEMBERS_MAX];
    for (size_t i = 0; i < filter->member_count; i++)
        members[i] = span_text (filter->members[i]);
    filter->store.members = members;
    store_list (listing->station->store, &filter->store, on_listed, listing);
}

int manage_list (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    struct plan_listing *listing = memory_new (sizeof *listing);
    int rc = read_filter (request->args[0], &listing->filter, reason) ? 0 : ZPLAN_EARGUMENT;
    struct span station = span_text (listing->filter.station);
    if (!rc && station.size && !station_is_callbacks (self, station))
        rc = permit_station (self, request->peer.user, station, reason);
    if (rc) {
        free (listing);
        return rc;
    }
    listing->for_monitor = self->dialect == DIALECT_MICROZERO && !request->arg_count;
    if (listing->for_monitor)
        listing->filter.limit = PAGE_MAX;
    listing->station = self;
    listing->peer = peer_keep (self, request);
    peer_add_weight (self, listing->peer, sizeof *listing);
    listing->filter.store.station = listing->filter.station;
    listing->filter.store.limit = listing->filter.limit;
    listing->filter.store.member_count = listing->filter.member_count;
    if (listing->filter.title[0])
        listing->filter.store.limit = TITLES_PER_PAGE;
    reads_start (self, listing->peer, ask_page, listing);
    return 0;
}
