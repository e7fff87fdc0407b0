// A plan being built: the members of its PLAN frame as a JSON object, and its frames. Each change
// is made to a copy, which is checked by the rules of the PLAN frame; members that are not set yet
// get valid values for the check, so that they cannot make it fail.
#include "client_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "ident.h"
#include "json.h"
#include "packet.h"
#include "plan.h"
#include "utf8.h"
#include "zonefile.h"

enum { FRAMES_MAX = ZPLAN_FRAMES_MAX - 4 }; // PLAN, STATION_ID, GLOBAL_ID and REQUEST_ID are added

struct zplan_plan {
    char station[STATION_NAME_MAX + 1];
    char id[IDENT_SIZE]; // "" = the station assigns one
    json_t *members;
    struct zone *zone;                // for times of day; NULL = UTC
    char timezone[ZONE_NAME_MAX + 1]; // the name of `zone`
    size_t count;
    struct zplan_frame frames[FRAMES_MAX]; // their data are owned
    char *text;                            // text of the PLAN frame; NULL = not written yet
    int error;                             // error of the first setter that failed; 0 = none
    struct reason reason;
};

// The widest limits: those of the station may be smaller.
static const struct plan_limits limits = {
    .bytes = INT64_MAX, .description = DESCRIPTION_ROOM, .depth = JSON_DEPTH_MAX};

// -- errors

// Store the reason of an error, unless a setter has failed before. Returns the error.
static int store_reason (struct zplan_plan *self, int error, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

static int store_reason (struct zplan_plan *self, int error, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    if (!self->error)
        reason_format (&self->reason, format, args);
    va_end (args);
    return error;
}

static int fail_memory (struct zplan_plan *self)
{
    return store_reason (self, ZPLAN_ERROR_MEMORY, "%s", zplan_error_text (ZPLAN_ERROR_MEMORY));
}

// Keep the error of the first setter that failed: such a plan is not submitted. Returns the error.
static int keep_setter_error (struct zplan_plan *self, int error)
{
    if (!self->error)
        self->error = error;
    return error;
}

#define FAIL(plan, ...)                                                                            \
    keep_setter_error (plan, store_reason (plan, ZPLAN_ERROR_ARGUMENT, __VA_ARGS__))

const char *zplan_plan_error (const struct zplan_plan *plan)
{
    return plan ? plan->reason.text : zplan_error_text (ZPLAN_ERROR_ARGUMENT);
}

// -- the members of the PLAN frame

static bool has_member (const json_t *members, const char *name)
{
    return json_object_get (members, name) != NULL;
}

// Set the member `name` to this number if it is missing. False: no memory.
static bool set_if_missing (json_t *members, const char *name, int64_t value)
{
    return has_member (members, name) ||
           json_object_set_new (members, name, json_integer (value)) == 0;
}

// Set this member of `changes`, which may be NULL; takes both references. Returns `changes`, or
// NULL: no memory.
static json_t *with_member (json_t *changes, const char *name, json_t *value)
{
    if (json_object_set_new (changes, name, value) == 0)
        return changes;
    json_decref (changes);
    return NULL;
}

// Check the members by the rules of the PLAN frame.
static int check_members (struct zplan_plan *self, json_t *members)
{
    struct plan_fields fields;
    struct reason reason;
    if (plan_frame_read (members, &limits, &fields, &reason))
        return store_reason (self, ZPLAN_ERROR_ARGUMENT, "%s", reason.text);
    plan_fields_clear (&fields);
    return ZPLAN_OK;
}

// Check an unfinished plan: missing members get valid values in a copy, so that only those that
// were set can fail.
static int check_unfinished (struct zplan_plan *self, const json_t *members)
{
    json_t *trial = json_copy ((json_t *)(uintptr_t)members);
    if (!trial)
        return fail_memory (self);
    bool typed = has_member (members, "plan_type"), cron = has_member (members, "cron");
    bool filled = cron || has_member (members, "iteration") ||
                  set_if_missing (trial, "plan_repet", SCHEDULE_FOREVER);
    if (cron && !typed)
        filled = filled && set_if_missing (trial, "plan_type", SCHEDULE_CRON);
    if (!cron)
        filled = filled && set_if_missing (trial, "plan_type", SCHEDULE_SECOND) &&
                 (has_member (members, "cycle") || set_if_missing (trial, "plan_value", 1));
    if (typed && !has_member (members, "plan_time"))
        filled = filled && set_if_missing (trial, "plan_time", 1);
    int error = filled ? check_members (self, trial) : fail_memory (self);
    json_decref (trial);
    return error;
}

// Replace the name of a type by its number, which the setters read. False: no memory.
static bool replace_type_name (json_t *members)
{
    const char *name = json_string_value (json_object_get (members, "plan_type"));
    int type = name ? schedule_type_parse (name) : -1;
    return type < 0 || json_object_set_new (members, "plan_type", json_integer (type)) == 0;
}

// Merge `changes` into the members; takes the reference. NULL: memory ran out while the changes
// were made.
static int change_members (struct zplan_plan *self, json_t *changes)
{
    json_t *members = changes ? json_copy (self->members) : NULL;
    int error = ZPLAN_OK;
    if (!members || json_object_update (members, changes) || !replace_type_name (members))
        error = fail_memory (self);
    else
        error = check_unfinished (self, members);
    json_decref (changes);
    if (error) {
        json_decref (members);
        return keep_setter_error (self, error);
    }
    json_decref (self->members);
    self->members = members;
    free (self->text);
    self->text = NULL;
    return ZPLAN_OK;
}

// -- creation

struct zplan_plan *zplan_plan_new (const char *station, const char *command)
{
    struct zplan_plan *self = calloc (1, sizeof *self);
    if (!self)
        return NULL;
    self->members = json_object ();
    if (!self->members) {
        free (self);
        return NULL;
    }
    if (station && station_name_valid (span_text (station)))
        memcpy (self->station, station, strlen (station) + 1);
    else
        FAIL (self, "station: want 1..64 of A-Z a-z 0-9 _ . -, got %s",
              quoted (span_text (station ? station : "")));
    if (command)
        zplan_plan_add_frame (self, ZERO_FRAME_COMMAND, command, strlen (command));
    return self;
}

void zplan_plan_destroy (struct zplan_plan **plan)
{
    if (!plan || !*plan)
        return;
    struct zplan_plan *self = *plan;
    for (size_t i = 0; i < self->count; i++)
        free ((void *)(uintptr_t)self->frames[i].data);
    json_decref (self->members);
    zone_destroy (&self->zone);
    free (self->text);
    free (self);
    *plan = NULL;
}

int zplan_plan_set_id (struct zplan_plan *plan, const char *id)
{
    uint64_t number;
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!id || !ident_parse (span_text (id), &number))
        return FAIL (plan, "id: want 1 to 16 hex digits, 1..7fffffffffffffff, got %s",
                     quoted (span_text (id ? id : "")));
    ident_text (number, plan->id);
    return ZPLAN_OK;
}

int zplan_plan_set_title (struct zplan_plan *plan, const char *title)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!title || !utf8_is_text (span_text (title)))
        return FAIL (plan, "description: want UTF-8");
    return change_members (plan, json_pack ("{s:s}", "description", title));
}

// -- the schedule

static enum schedule_type member_type (const json_t *members)
{
    return (enum schedule_type)json_integer_value (json_object_get (members, "plan_type"));
}

static bool plan_repeats (const json_t *members)
{
    return schedule_repeats (member_type (members));
}

int zplan_plan_set_at (struct zplan_plan *plan, int64_t unix_s)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (unix_s < 1)
        return FAIL (plan, "plan_time: want Unix seconds from 1 on, got %" PRId64, unix_s);
    json_t *changes = json_pack ("{s:I}", "plan_time", (json_int_t)unix_s);
    if (!plan_repeats (plan->members))
        changes = with_member (changes, "plan_type", json_integer (SCHEDULE_TIME));
    return change_members (plan, changes);
}

int zplan_plan_set_in (struct zplan_plan *plan, int64_t seconds)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (seconds < 0 || seconds > SCHEDULE_TIME_MAX)
        return FAIL (plan, "in: want 0..%" PRId64 " seconds, got %" PRId64, SCHEDULE_TIME_MAX,
                     seconds);
    return zplan_plan_set_at (plan, schedule_in (clock_wall_us (), seconds));
}

int zplan_plan_set_every (struct zplan_plan *plan, int number, enum zplan_unit unit)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (unit < ZPLAN_SECONDS || unit > ZPLAN_DAYS)
        return FAIL (plan, "plan_type: want an enum zplan_unit, got %d", (int)unit);
    if (number == 0) // on the wire 0 repeats without a pause, which is never intended
        return FAIL (plan, "plan_value: want 1..32766, got 0");
    // The time of day of a weekly or monthly plan would become the first time of this plan.
    struct schedule before = {.type = member_type (plan->members)};
    bool was_calendar = schedule_is_calendar (&before);
    int error = change_members (
        plan, json_pack ("{s:i, s:i}", "plan_type", (int)unit, "plan_value", number));
    if (!error && was_calendar)
        json_object_del (plan->members, "plan_time");
    return error;
}

// Add the plan's time zone, if it has one, to `changes`, which may be NULL; takes the reference.
// Returns `changes`, or NULL: no memory.
static json_t *add_timezone (const struct zplan_plan *self, json_t *changes)
{
    return *self->timezone ? with_member (changes, "timezone", json_string (self->timezone))
                           : changes;
}

int zplan_plan_set_cron (struct zplan_plan *plan, const char *expression)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!expression || !utf8_is_text (span_text (expression)))
        return FAIL (plan, "cron: want an expression, as \"30 8 * * MON\"");
    json_t *changes = json_pack ("{s:i, s:s}", "plan_type", (int)SCHEDULE_CRON, "cron", expression);
    int error = change_members (plan, add_timezone (plan, changes));
    if (!error)
        json_object_del (plan->members, "plan_value");
    return error;
}

static int set_calendar (struct zplan_plan *self, enum schedule_type type, int day, int hour,
                         int minute)
{
    if (hour < 0 || hour > 23)
        return FAIL (self, "hour: want 0..23, got %d", hour);
    if (minute < 0 || minute > 59)
        return FAIL (self, "minute: want 0..59, got %d", minute);
    int64_t time = schedule_time_of_day (self->zone, hour * 3600 + minute * 60);
    json_t *changes = json_pack ("{s:i, s:i, s:I}", "plan_type", (int)type, "plan_value", day,
                                 "plan_time", (json_int_t)time);
    return change_members (self, add_timezone (self, changes));
}

int zplan_plan_set_weekly (struct zplan_plan *plan, int day, int hour, int minute)
{
    return plan ? set_calendar (plan, SCHEDULE_WEEK, day, hour, minute) : ZPLAN_ERROR_ARGUMENT;
}

int zplan_plan_set_monthly (struct zplan_plan *plan, int day, int hour, int minute)
{
    return plan ? set_calendar (plan, SCHEDULE_MONTH, day, hour, minute) : ZPLAN_ERROR_ARGUMENT;
}

int zplan_plan_set_timezone (struct zplan_plan *plan, const char *name)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    struct reason reason;
    struct zone *zone = name ? zonefile_load (name, &reason) : NULL;
    if (!zone)
        return FAIL (plan, "%s", name ? reason.text : "timezone: is missing");
    zone_destroy (&plan->zone);
    plan->zone = zone;
    snprintf (plan->timezone, sizeof plan->timezone, "%s", name);
    return ZPLAN_OK;
}

int zplan_plan_set_repeat (struct zplan_plan *plan, int64_t times)
{
    return plan ? change_members (plan, json_pack ("{s:I}", "plan_repet", (json_int_t)times))
                : ZPLAN_ERROR_ARGUMENT;
}

int zplan_plan_set_hold (struct zplan_plan *plan)
{
    return plan ? change_members (plan, json_pack ("{s:b}", "hold", 1)) : ZPLAN_ERROR_ARGUMENT;
}

int zplan_plan_set_on_failure (struct zplan_plan *plan, const char *command, const char *station)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!command || !utf8_is_text (span_text (command)) ||
        (station && !utf8_is_text (span_text (station))))
        return FAIL (plan, "on_failure: command and station: want UTF-8");
    return change_members (plan, station
                                     ? json_pack ("{s:{s:s, s:s}}", "on_failure", "command",
                                                  command, "station", station)
                                     : json_pack ("{s:{s:s}}", "on_failure", "command", command));
}

int zplan_plan_set_json (struct zplan_plan *plan, const char *name, const char *json)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!name || !json || !utf8_is_text (span_text (name)))
        return FAIL (plan, "member: its name or its JSON is missing");
    json_error_t why;
    json_t *value = json_loads (json, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    if (!value)
        return json_error_code (&why) == json_error_out_of_memory
                   ? keep_setter_error (plan, fail_memory (plan))
                   : FAIL (plan, "%.64s: JSON: %s", name, why.text);
    return change_members (plan, with_member (json_object (), name, value));
}

// -- the frames for the target

int zplan_plan_add_frame (struct zplan_plan *plan, uint8_t type, const void *data, size_t size)
{
    if (!plan)
        return ZPLAN_ERROR_ARGUMENT;
    if (!data && size)
        return FAIL (plan, "frame: its data are missing");
    if (plan->count == FRAMES_MAX)
        return FAIL (plan, "frames: at most %d", FRAMES_MAX);
    if (size > packet_of_peers.frame_bytes)
        return FAIL (plan, "frame: at most %zu bytes, got %zu", packet_of_peers.frame_bytes, size);
    void *copy = malloc (size ? size : 1);
    if (!copy)
        return keep_setter_error (plan, fail_memory (plan));
    if (size)
        memcpy (copy, data, size);
    struct zplan_frame *frame = &plan->frames[plan->count++];
    frame->type = type;
    frame->data = copy;
    frame->size = size;
    return ZPLAN_OK;
}

int zplan_plan_add_argument (struct zplan_plan *plan, const char *text)
{
    return zplan_plan_add_frame (plan, ZERO_FRAME_ARG, text, text ? strlen (text) : 1);
}

// -- the finished plan

static int write_plan_text (struct zplan_plan *self)
{
    json_t *members = json_copy (self->members);
    if (!members)
        return fail_memory (self);
    bool filled = set_if_missing (members, "plan_type", SCHEDULE_NONE) &&
                  (!plan_repeats (members) || has_member (members, "iteration") ||
                   set_if_missing (members, "plan_repet", SCHEDULE_FOREVER));
    int error = filled ? check_members (self, members) : fail_memory (self);
    if (!error) {
        self->text = json_dumps (members, JSON_COMPACT);
        error = self->text ? ZPLAN_OK : fail_memory (self);
    }
    json_decref (members);
    return error;
}

const char *zplan_plan_json (struct zplan_plan *plan)
{
    if (!plan || plan->error || (!plan->text && write_plan_text (plan)))
        return NULL;
    return plan->text;
}

int plan_builder_submission (struct zplan_plan *self, struct zplan_submission *ret)
{
    int error = self->error;
    if (!error && self->count == 0)
        error = store_reason (self, ZPLAN_ERROR_ARGUMENT, "command: is missing");
    if (!error && !self->text)
        error = write_plan_text (self);
    if (error)
        return error;
    *ret = (struct zplan_submission){.station = self->station,
                                     .plan = self->text,
                                     .id = *self->id ? self->id : NULL,
                                     .frames = self->frames,
                                     .count = self->count};
    return ZPLAN_OK;
}
