// A plan in the making. Each setter judges at once by the rules of the station: when it returns
// ZPLAN_ERROR_ARGUMENT, zplan_plan_error has the reason ("plan_repet: want -1 (for ever) or
// 1..2147483647, got 0"). A setter that failed changes nothing, and the plan is then refused when
// it is submitted: no plan runs without what was asked for, even if nobody looks at what the
// setters return. Texts are copied. A plan belongs to one thread at a time.
//
// ---- example: submit
//     #include <stdio.h>
//     #include <zplan.h>
//
//     int main (int argc, char **argv)
//     {
//         const char *endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:7920";
//         struct zplan_client *client = zplan_client_new (endpoint);
//         struct zplan_plan *plan = zplan_plan_new ("jobs", "report");
//         if (!client || !plan) {
//             perror (endpoint);
//             return 1;
//         }
//         zplan_plan_set_title (plan, "weekly report");
//         zplan_plan_set_timezone (plan, "Europe/Berlin");
//         zplan_plan_set_weekly (plan, 1, 8, 30); // Monday, half past eight
//         zplan_plan_set_repeat (plan, 10);
//         zplan_plan_add_argument (plan, "sales");
//
//         struct zplan_reply reply;
//         char words[200];
//         int error = zplan_client_submit_plan (client, plan, &reply);
//         if (error)
//             fprintf (stderr, "%s: %s\n", zplan_error_text (error), zplan_client_error (client));
//         else if (reply.status != ZERO_STATUS_PLAN_ID)
//             fprintf (stderr, "%s\n", zplan_reply_words (&reply, words, sizeof words));
//         else {
//             size_t size = 0;
//             const char *id = zplan_reply_frame (&reply, ZERO_FRAME_GLOBAL_ID, &size);
//             printf ("plan %.*s\n", (int)size, id);
//         }
//         zplan_plan_destroy (&plan);
//         zplan_client_destroy (&client);
//         return error || reply.status != ZERO_STATUS_PLAN_ID;
//     }
// ---- end
#ifndef ZPLAN_PLAN_H
#define ZPLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

struct zplan_plan;

// A plan that has `station` run `command`: once, as soon as it is submitted, unless a setter says
// otherwise. A plan for a pub station has no command (NULL) and a frame of ZERO_FRAME_PUB_TITLE
// first. NULL: there is no memory. A station name that is none shows in what the setters and the
// submission say. Give it back with zplan_plan_destroy.
struct zplan_plan *zplan_plan_new (const char *station, const char *command);

// Takes the plan away and sets the pointer to NULL; NULL is fine. What was submitted goes on.
void zplan_plan_destroy (struct zplan_plan **plan);

// The plan's id, 1 to 16 hex digits, 1..7fffffffffffffff. The same plan submitted again under its
// id is one plan. Without a call the station makes an id each time.
int zplan_plan_set_id (struct zplan_plan *plan, const char *id);

// The plan's description, UTF-8; its results are published under it.
int zplan_plan_set_title (struct zplan_plan *plan, const char *title);

// ---- when it runs

enum zplan_unit { ZPLAN_SECONDS = 2, ZPLAN_MINUTES = 3, ZPLAN_HOURS = 4, ZPLAN_DAYS = 5 };

// Once at this time, Unix seconds; the first time, of a plan that repeats in seconds to days. Of
// weekly and monthly plans it is the time of day.
int zplan_plan_set_at (struct zplan_plan *plan, int64_t unix_s);

// The same, so many seconds from now.
int zplan_plan_set_in (struct zplan_plan *plan, int64_t seconds);

// Every `number` units, 1..32766. What zplan_plan_set_weekly or _monthly said before is forgotten.
int zplan_plan_set_every (struct zplan_plan *plan, int number, enum zplan_unit unit);

// Every week on this day, 0..6, 0 is Sunday; every month on this day: 1..31 from its start, 0 the
// last one, -1 the one before it, to -31. What a month does not have is cut to the nearest day it
// has. Hour and minute are in the time zone that zplan_plan_set_timezone has set before; without it
// they are those of UTC, and the days those of the station's zone.
int zplan_plan_set_weekly (struct zplan_plan *plan, int day, int hour, int minute);
int zplan_plan_set_monthly (struct zplan_plan *plan, int day, int hour, int minute);

// By a cron expression of 5 fields, or 6 with the seconds first, in the time zone that was said
// before, else in that of the station. Several expressions go in as the member "cron".
int zplan_plan_set_cron (struct zplan_plan *plan, const char *expression);

// The time zone of later calls of these three: a name of the tz database, as "Europe/Berlin". It
// becomes the plan's own, whatever that of the station is.
int zplan_plan_set_timezone (struct zplan_plan *plan, const char *name);

// How often it runs in all, from 1 on; -1, as without a call: for ever.
int zplan_plan_set_repeat (struct zplan_plan *plan, int64_t times);

// The station keeps the plan paused, in no queue, until the command reset: ("hold", "true").
int zplan_plan_set_hold (struct zplan_plan *plan);

// What is called when all tries of an occurrence have failed: this command, with the outcome in
// JSON as its argument, on this target; NULL = the plan's own.
int zplan_plan_set_on_failure (struct zplan_plan *plan, const char *command, const char *station);

// Any member of the PLAN frame by its name in the protocol, as JSON: ("skip_set", "2"), ("no_keep",
// "true"), ("vote", "{\"rule\": \"majority\"}"), ("retry", "{\"strategy\": \"fixed\", \"interval\":
// 30, \"max\": 3}").
int zplan_plan_set_json (struct zplan_plan *plan, const char *name, const char *json);

// ---- what the target gets, in the order of the calls, at most 28 frames with the command

// A frame; the bytes, at most 1 MiB, are copied.
int zplan_plan_add_frame (struct zplan_plan *plan, uint8_t type, const void *data, size_t size);

// A frame of ZERO_FRAME_ARG.
int zplan_plan_add_argument (struct zplan_plan *plan, const char *text);

// ---- reading it

// The PLAN frame. It belongs to the plan and lasts until its next setter or its end. NULL: a setter
// failed, or the members do not fit together; zplan_plan_error says why.
const char *zplan_plan_json (struct zplan_plan *plan);

// Why the first setter that failed did so; of none: why the last submission or zplan_plan_json was
// refused; else "". Lasts until the plan's next call or its end.
const char *zplan_plan_error (const struct zplan_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
