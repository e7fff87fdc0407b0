// Stored messages, which an operator may have edited: input is the text, NUL, and events of the
// engine and admin commands for the plan. After each of them it must be possible to store the plan
// and read it back.
#include "ballot.h"
#include "codes.h"
#include "fuzz.h"
#include "json_names.h"
#include "management.h"
#include "plan_public.h"
#include "plan_update.h"
#include "plans.h"
#include "zones.h"

enum { EVENTS_MAX = 8 };

// -- events of the engine and admin commands

struct story {
    struct feed *feed;
    struct plan *plan;
    struct run run;
    const struct zone *zone;
    int64_t now;
    const struct dispatch_way *way;
    struct plan_update update; // its description is borrowed by the plan
    bool updated;
};

static uint64_t some_exec_id (struct story *self)
{
    uint8_t kind = feed_byte (self->feed) % 4;
    if (kind < 2)
        return kind ? 0 : self->run.exec_id;
    return feed_number (self->feed) >> 1;
}

static struct decision fire (struct story *self, uint8_t knob)
{
    struct reason reason;
    uint64_t new_id = (uint64_t)self->now * 1000000 + knob;
    uint64_t exec_id = knob & 1 ? some_exec_id (self) : new_id;
    struct due due = {.key_station = self->plan->station,
                      .exec_id = exec_id,
                      .lost = knob & 1,
                      .way = self->way,
                      .zone = self->zone,
                      .earlier_may_answer = knob & 2,
                      .now = self->now,
                      .now_us = self->now * 1000000};
    struct decision decision = engine_due (self->plan, &due, &reason);
    self->run = (struct run){.exec_id = exec_id, .earlier_may_answer = knob & 2};
    if (decision.send)
        check_sent (self->plan, self->way, self->now);
    return decision;
}

static struct decision answer (struct story *self, uint8_t knob)
{
    struct answer answer = {.status = feed_byte (self->feed),
                            .on_connection = knob & 1,
                            .has_exec_id = knob & 2,
                            .target = (enum target_type) (knob >> 2) % TARGET_TYPES};
    answer.exec_id = some_exec_id (self);
    if (answer.target == TARGET_VOTE) {
        uint8_t votes = feed_byte (self->feed);
        answer.tally.event = (enum poll) (feed_byte (self->feed) % (POLL_TIMEOUT + 1));
        answer.tally.opened = votes & 1;
        answer.tally.stored = votes & 2;
        answer.tally.voters = votes >> 2;
        answer.tally.voted = answer.tally.voters ? knob % (answer.tally.voters + 1) : 0;
        answer.tally.in_favour = answer.tally.voted / 2;
    }
    return engine_answer (self->plan, &self->run, &answer, self->zone, self->now);
}

// Read an update of the plan from the input up to the next NUL.
static const struct plan_fields *read_update (struct story *self)
{
    struct reason reason = {""};
    struct span text = feed_text (self->feed);
    if (self->updated ||
        plan_update_parse (self->plan, text, &plan_limits_default, &self->update, &reason)) {
        if (!self->updated) {
            check_reason (&reason);
            plan_update_clear (&self->update);
        }
        return NULL;
    }
    self->updated = true;
    return &self->update.fields;
}

static void manage (struct story *self, uint8_t knob)
{
    struct reason reason = {""};
    enum requeue requeue;
    struct manage_request request = {.command = (enum manage_command) (knob % MANAGE_COMMANDS),
                                     .running = knob & 0x40,
                                     .count = 1,
                                     .zone = self->zone,
                                     .now = self->now};
    if (request.command == MANAGE_SKIP)
        request.count = 1 + (int64_t)(feed_number (self->feed) % INT32_MAX);
    if (request.command == MANAGE_UPDATE && !(request.fields = read_update (self)))
        return;
    if (engine_handle_command (self->plan, &request, &requeue, &reason))
        check_reason (&reason);
}

// The longest delay: a year, and a day of jitter.
#define DELAY_MAX_MS (INT64_C (366) * 86400 * 1000)

static void step (struct story *self)
{
    uint8_t event = feed_byte (self->feed), knob = feed_byte (self->feed);
    struct decision decision = {0};
    self->now += knob % 2 ? 1 : (int64_t)knob * 86400;
    if (self->now > SCHEDULE_TIME_MAX)
        self->now = SCHEDULE_TIME_MAX;
    switch (event % 8) {
    case 0:
        decision = fire (self, knob);
        break;
    case 1:
        manage (self, knob);
        break;
    case 2:
        decision = engine_handle_no_status (self->plan);
        break;
    case 3:
        decision = engine_handle_not_sent (self->plan);
        break;
    case 4:
        decision = engine_requeue (self->plan);
        break;
    case 5:
        decision = (knob & 1 ? engine_timeout : engine_cancel) (self->plan, self->zone, self->now);
        break;
    default:
        decision = answer (self, knob);
    }
    HOLDS (decision.commit < COMMITS && decision.delay_ms >= 0 &&
           decision.delay_ms <= DELAY_MAX_MS);
    HOLDS (self->plan->state < PLAN_STATES);
    HOLDS (engine_poll_end_us (self->plan) >= 0);
}

// Do what the station does with any plan that it reads, then apply the events of the input.
static void check_plan (struct feed *feed, struct plan *plan)
{
    static const struct dispatch_way ways[] = {
        {false, ""}, {true, ""}, {false, "secret"}, {true, "secret"}};
    uint8_t knob = feed_byte (feed);
    struct story story = {.feed = feed,
                          .plan = plan,
                          .zone = fuzz_zone (knob >> 2),
                          .now = plan->plan_time,
                          .way = &ways[knob % 4],
                          .run = {.exec_id = plan->exec_id}};
    check_stored (plan);
    check_public (plan);
    HOLDS (engine_poll_end_us (plan) >= 0);
    plan->revision = 0; // as in the updates of the input
    fire (&story, 0);   // the events of the input follow it
    for (int i = 0; i < EVENTS_MAX && feed->left.size; i++) {
        struct plan *again;
        step (&story);
        free (check_readable (plan, &again));
        plan_destroy (&again);
    }
    check_stored (plan);
    check_public (plan);
    if (story.updated)
        plan_update_clear (&story.update);
}

// A text that the parser without a tree accepts, the parser with a tree must accept as the same
// plan.
static void check_ways (struct span text, const struct plan *plan)
{
    struct reason reason = {""};
    struct plan *scanned = plan_scan_stored (42, text);
    struct plan *parsed = plan_parse_stored (42, text, &reason);
    HOLDS (!scanned || parsed);
    HOLDS (!plan == !parsed);
    if (scanned) {
        char *first = stored_text (scanned), *second = stored_text (parsed);
        HOLDS (strcmp (first, second) == 0);
        free (second);
        free (first);
    }
    plan_destroy (&parsed);
    plan_destroy (&scanned);
}

// Close and parse a list of one object, which was left open. Returns the object.
static json_t *take_item (struct json_text *list)
{
    struct reason reason = {""};
    json_text_raw (list, span_text ("}]"));
    json_t *items = json_read_array (span_of (list->bytes, list->size), &reason);
    HOLDS (json_array_size (items) == 1);
    return items;
}

// If the public form can be copied, it must be the same as the converted one.
static void check_shown (struct span text)
{
    enum { COMMAND_MAX = 8 };
    struct json_text copied, converted;
    json_text_start (&copied, 1024);
    json_text_start (&converted, 1024);
    json_text_raw (&copied, span_text ("["));
    json_text_raw (&converted, span_text ("["));
    if (plan_copy_public (42, text, COMMAND_MAX, &copied)) {
        HOLDS (plan_convert_public (42, text, COMMAND_MAX, &converted));
        json_t *first = take_item (&copied), *second = take_item (&converted);
        HOLDS (json_equal (first, second));
        json_decref (first);
        json_decref (second);
    } else {
        HOLDS (copied.size == 1);
    }
    free (copied.bytes);
    free (converted.bytes);
}

// The names of any valid object are converted to valid JSON. Two members may get the same name.
static void check_names (struct span text)
{
    struct reason reason = {""};
    json_t *wire = json_read_object (text, &reason);
    for (enum json_kind kind = JSON_PLAN; kind <= JSON_ANSWER; kind++) {
        struct json_scan scan = json_scan_of (text);
        struct json_text names;
        json_text_start (&names, text.size);
        bool taken = json_names_take (kind, &scan, &names) && json_scan_ended (&scan);
        json_t *read = json_loadb (names.bytes, names.size, 0, NULL);
        HOLDS (!wire || (taken && json_is_object (read)));
        json_decref (read);
        free (names.bytes);
    }
    json_decref (wire);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span text = feed_text (&feed);
    struct reason reason = {""};
    struct plan *plan = plan_from_stored_json (42, text, &reason);
    check_ways (text, plan);
    check_shown (text);
    check_names (text);
    if (plan)
        check_plan (&feed, plan);
    else
        check_reason (&reason);
    plan_destroy (&plan);
    feed_free (&feed);
    return 0;
}
