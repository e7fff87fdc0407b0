// zplan-instructions: does one operation of the pure layers so many times, and nothing else, so
// that the difference between two counts is what the operation costs. tests/bench/instructions runs
// it under callgrind; without arguments it prints the names.
#include <stdio.h>
#include <stdlib.h>

#include "dialect.h"
#include "pack.h"

#include "../unit/pack_write.h"
#include "plan_json.h"
#include "plan_message.h"
#include "zonefile.h"
#include "zplan_codes.h"

enum { ARGUMENT_BYTES = 200, PLAN_ID = 0x19c5f2b3 };

#define NOW INT64_C (1795227062)

static const uint8_t submit_desc[] = {4,
                                      ZERO_BYTE_COMMAND_PLAN,
                                      ZERO_FRAME_PLAN,
                                      ZERO_FRAME_STATION_ID,
                                      ZERO_FRAME_COMMAND,
                                      ZERO_FRAME_ARG,
                                      ZERO_FRAME_END};
static const char plan_text[] = "{\"description\":\"weekly report\",\"plan_type\":\"week\","
                                "\"plan_value\":1,\"plan_repet\":10,\"plan_time\":1795300000}";
static const char cron_text[] = "*/15 8-17 * * MON-FRI";

// What the operations work on; made once, by code that is not measured.
static struct {
    char argument[ARGUMENT_BYTES];
    struct span frames[5]; // of a submission
    struct message request;
    char *packed; // the PLAN frame as msgpack
    size_t packed_size;
    struct plan *plan;
    char *stored, *public;
    struct plan_texts texts; // of what is sent
    struct zone *utc, *berlin;
    struct cron *cron;
} work;

static void fail (const char *what, const struct reason *reason)
{
    fprintf (stderr, "zplan-instructions: %s: %s\n", what, reason->text);
    exit (1);
}

static char *stored_text (const struct plan *plan)
{
    size_t size;
    return plan_stored_text (plan, &size);
}

static void make_work (void)
{
    struct reason reason;
    struct plan_fields fields;
    memset (work.argument, 'x', sizeof work.argument);
    work.frames[0] = span_of (submit_desc, sizeof submit_desc);
    work.frames[1] = span_text (plan_text);
    work.frames[2] = span_text ("jobs");
    work.frames[3] = span_text ("report");
    work.frames[4] = span_of (work.argument, sizeof work.argument);
    if (message_read (work.frames, 5, &work.request, &reason) ||
        plan_frame_parse (work.frames[1], &plan_limits_default, &fields, &reason))
        fail ("the submission", &reason);
    json_t *object = json_read_object (work.frames[1], &reason);
    work.packed = pack_write (object, &work.packed_size);
    json_decref (object);
    work.plan = plan_new_submitted (PLAN_ID, &work.request, span_of ("\0bob1", 5), &fields, NOW);
    work.plan->plan_time = NOW + 3600;
    work.plan->exec_time = NOW;
    work.plan->exec_id = (uint64_t)NOW * 1000000 + 519;
    work.plan->revision = 6249780562775163;
    work.plan->state = PLAN_EXECUTE;
    work.stored = stored_text (work.plan);
    work.public = plan_public_text (work.plan);
    work.utc = zone_new_utc ();
    work.berlin = zonefile_load ("Europe/Berlin", &reason);
    if (!work.berlin)
        fail ("the zone", &reason);
    const struct span expression = span_text (cron_text);
    work.cron = cron_new (&expression, 1, &reason);
    if (!work.cron)
        fail ("the expression", &reason);
}

static void end_work (void)
{
    plan_destroy (&work.plan);
    zone_destroy (&work.utc);
    zone_destroy (&work.berlin);
    cron_destroy (&work.cron);
    free (work.packed);
    free (work.stored);
    free (work.public);
    free (work.texts.plan_json.bytes);
}

// -- the operations; each ends the program when it does not do what it is for

static void do_desc_parse (void)
{
    struct desc desc;
    struct reason reason;
    if (desc_parse (work.frames[0], 4, &desc, &reason))
        fail ("desc_parse", &reason);
}

static void do_message_read (void)
{
    struct message message;
    struct reason reason;
    if (message_read (work.frames, 5, &message, &reason))
        fail ("message_read", &reason);
}

static void do_message_write (void)
{
    struct message message;
    struct span out[MESSAGE_FRAMES_MAX];
    uint8_t desc[DESC_SIZE_MAX];
    message_start (&message, ZERO_STATUS_OK_ID);
    for (size_t i = 1; i < 5; i++)
        message_add (&message, ZERO_FRAME_ARG, work.frames[i]);
    if (message_layout (&message, desc, out) != 5)
        fail ("message_write", &(struct reason){"not five frames"});
}

static void parse_plan (struct span frame)
{
    struct plan_fields fields;
    struct reason reason;
    if (plan_frame_parse (frame, &plan_limits_default, &fields, &reason))
        fail ("plan_frame_parse", &reason);
}

static void do_plan_frame_json (void)
{
    parse_plan (work.frames[1]);
}

static void do_plan_frame_msgpack (void)
{
    parse_plan (span_of (work.packed, work.packed_size));
}

static void do_plan_submitted (void)
{
    static const struct plan_fields fields = {.schedule = {SCHEDULE_WEEK, 1, 10, false, NOW, 0}};
    struct plan *plan =
        plan_new_submitted (PLAN_ID, &work.request, span_of ("\0bob1", 5), &fields, NOW);
    plan_destroy (&plan);
}

static void do_stored_write (void)
{
    free (stored_text (work.plan));
}

static void do_stored_read (void)
{
    struct reason reason;
    struct plan *plan = plan_from_stored_json (PLAN_ID, span_text (work.stored), &reason);
    if (!plan)
        fail ("plan_from_stored_json", &reason);
    plan_destroy (&plan);
}

static void do_public_text (void)
{
    free (plan_public_text (work.plan));
}

static void do_broadcast_json (void)
{
    plan_broadcast_json (work.public, 4711, "6b00fdb631fa6", &work.texts.plan_json);
}

static void do_dispatch (void)
{
    static const struct dispatch_way way = {false, ""};
    struct message message;
    plan_dispatch_message (work.plan, &way, NOW + 300, &work.texts, &message);
}

static void next_of (const struct schedule *schedule, const struct zone *zone)
{
    // A day late, so that interval kinds have missed some.
    const struct occurrence current = {NOW + 60, 1};
    struct occurrence next;
    if (!schedule_next (schedule, zone, &current, NOW + 86400, &next))
        fail ("schedule_next", &(struct reason){"the plan has ended"});
}

#define SCHEDULE(name, type, value, zone)                                                          \
    static void do_next_##name (void)                                                              \
    {                                                                                              \
        static const struct schedule schedule = {type, value, SCHEDULE_FOREVER, false, NOW, NOW};  \
        next_of (&schedule, work.zone);                                                            \
    }

SCHEDULE (second, SCHEDULE_SECOND, 30, utc)
SCHEDULE (minute, SCHEDULE_MINUTE, 7, utc)
SCHEDULE (hour, SCHEDULE_HOUR, 5, utc)
SCHEDULE (day, SCHEDULE_DAY, 2, utc)
SCHEDULE (week, SCHEDULE_WEEK, 3, utc)
SCHEDULE (month, SCHEDULE_MONTH, 31, utc)
SCHEDULE (week_berlin, SCHEDULE_WEEK, 3, berlin)
SCHEDULE (month_berlin, SCHEDULE_MONTH, -1, berlin)

static void do_cron_new (void)
{
    struct reason reason;
    const struct span expression = span_text (cron_text);
    struct cron *cron = cron_new (&expression, 1, &reason);
    if (!cron)
        fail ("cron_new", &reason);
    cron_destroy (&cron);
}

static void next_of_cron (const struct zone *zone)
{
    int64_t next;
    if (!cron_next (work.cron, zone, ZONE_GAP_SHIFT, ZONE_OVERLAP_FIRST, NOW, &next))
        fail ("cron_next", &(struct reason){"there is none"});
}

static void do_next_cron (void)
{
    next_of_cron (work.utc);
}

static void do_next_cron_berlin (void)
{
    next_of_cron (work.berlin);
}

static const struct operation {
    const char *name;
    void (*run) (void);
} operations[] = {
    {"desc_parse", do_desc_parse},
    {"message_read", do_message_read},
    {"message_write", do_message_write},
    {"plan_frame_json", do_plan_frame_json},
    {"plan_frame_msgpack", do_plan_frame_msgpack},
    {"plan_submitted", do_plan_submitted},
    {"stored_write", do_stored_write},
    {"stored_read", do_stored_read},
    {"public_text", do_public_text},
    {"broadcast_json", do_broadcast_json},
    {"dispatch", do_dispatch},
    {"next_second", do_next_second},
    {"next_minute", do_next_minute},
    {"next_hour", do_next_hour},
    {"next_day", do_next_day},
    {"next_week", do_next_week},
    {"next_month", do_next_month},
    {"next_week_berlin", do_next_week_berlin},
    {"next_month_berlin", do_next_month_berlin},
    {"cron_new", do_cron_new},
    {"next_cron", do_next_cron},
    {"next_cron_berlin", do_next_cron_berlin},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

static const struct operation *operation_of (const char *name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strcmp (operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

int main (int argc, char **argv)
{
    if (argc == 1)
        for (size_t i = 0; i < OPERATIONS; i++)
            puts (operations[i].name);
    if (argc != 3)
        return argc == 1 ? 0 : 2;
    const struct operation *operation = operation_of (argv[1]);
    if (!operation)
        fail (argv[1], &(struct reason){"no such operation"});
    json_object_seed (1); // or the tables of jansson are filled in another way each time
    make_work ();
    long count = strtol (argv[2], NULL, 10);
    for (long i = 0; i < count; i++)
        operation->run ();
    end_work ();
    return 0;
}
