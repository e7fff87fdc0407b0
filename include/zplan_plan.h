// A plan to be submitted. Each setter checks its value at once by the rules of the station: when it
// returns ZPLAN_ERROR_ARGUMENT, zplan_plan_error has the reason ("plan_repet: want -1 (for ever) or
// 1..2147483647, got 0"). A setter that failed changes nothing, and the plan is then rejected when
// it is submitted: no plan runs with other values than requested, even if nobody checks what the
// setters return. Strings are copied. A plan belongs to one thread at a time.
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

// A plan in which the target `station` runs `command`: once, as soon as it is submitted, unless a
// setter says otherwise. A plan for a pub target has no command (NULL) and a frame of
// ZERO_FRAME_PUB_TITLE first. NULL: out of memory. An invalid target name is reported by the
// setters and the submission. Destroy it with zplan_plan_destroy.
struct zplan_plan *zplan_plan_new (const char *station, const char *command);

// Destroys the plan and sets the pointer to NULL; NULL is allowed. A submitted plan is not
// affected.
void zplan_plan_destroy (struct zplan_plan **plan);

// The plan's id, 1 to 16 hex digits, 1..7fffffffffffffff. A plan that is submitted again under its
// id stays one plan. Without this call the station makes an id each time.
int zplan_plan_set_id (struct zplan_plan *plan, const char *id);

// The plan's description, UTF-8; it is the title under which its results are published.
int zplan_plan_set_title (struct zplan_plan *plan, const char *title);

// ---- when it runs

enum zplan_unit { ZPLAN_SECONDS = 2, ZPLAN_MINUTES = 3, ZPLAN_HOURS = 4, ZPLAN_DAYS = 5 };

// Run once at this time, Unix seconds; for a plan that repeats in seconds to days, the first time.
// For weekly and monthly plans it is the time of day.
int zplan_plan_set_at (struct zplan_plan *plan, int64_t unix_s);

// As zplan_plan_set_at, for the time `seconds` from now.
int zplan_plan_set_in (struct zplan_plan *plan, int64_t seconds);

// Run every `number` units, 1..32766. Replaces zplan_plan_set_weekly and _monthly.
int zplan_plan_set_every (struct zplan_plan *plan, int number, enum zplan_unit unit);

// Weekly: run every week on `day`, 0..6, 0 is Sunday. Monthly: run every month on `day`, 1..31 from
// its start, 0 the last one, -1 the one before it, to -31; a day that a month does not have becomes
// the nearest one it has. Hour and minute are in the time zone that was set before with
// zplan_plan_set_timezone; without it they are UTC, and the days are those of the station's time
// zone.
int zplan_plan_set_weekly (struct zplan_plan *plan, int day, int hour, int minute);
int zplan_plan_set_monthly (struct zplan_plan *plan, int day, int hour, int minute);

// Run by a cron expression of 5 fields, or 6 with the seconds first, in the time zone that was set
// before, else in that of the station. Set several expressions with zplan_plan_set_json ("cron").
int zplan_plan_set_cron (struct zplan_plan *plan, const char *expression);

// The time zone for later calls of zplan_plan_set_weekly, _monthly and _cron: a name of the tz
// database, such as "Europe/Berlin". It is stored in the plan and overrides the station's.
int zplan_plan_set_timezone (struct zplan_plan *plan, const char *name);

// Set how often the plan runs in all: 1 or more; -1, the default, is no limit.
int zplan_plan_set_repeat (struct zplan_plan *plan, int64_t times);

// Have the station store the plan paused, not queued, until the command reset.
int zplan_plan_set_hold (struct zplan_plan *plan);

// Call this command when all tries of an occurrence have failed, with the outcome in JSON as its
// argument, on this target; NULL = the plan's own.
int zplan_plan_set_on_failure (struct zplan_plan *plan, const char *command, const char *station);

// Any member of the PLAN frame by its name in the protocol, as JSON: ("skip_set", "2"), ("no_keep",
// "true"), ("vote", "{\"rule\": \"majority\"}"), ("retry", "{\"strategy\": \"fixed\", \"interval\":
// 30, \"max\": 3}").
int zplan_plan_set_json (struct zplan_plan *plan, const char *name, const char *json);

// ---- what the target receives, in the order of the calls, at most 28 frames with the command

// Add a frame; the bytes, at most 1 MiB, are copied.
int zplan_plan_add_frame (struct zplan_plan *plan, uint8_t type, const void *data, size_t size);

// Add a frame of ZERO_FRAME_ARG with this text.
int zplan_plan_add_argument (struct zplan_plan *plan, const char *text);

// ---- reading it

// The PLAN frame. It belongs to the plan and is valid until its next setter or its end. NULL: a
// setter failed, or the members contradict each other; zplan_plan_error has the reason.
const char *zplan_plan_json (struct zplan_plan *plan);

// The reason why the first failed setter failed; if none did, why the last submission or
// zplan_plan_json was rejected; else "". Valid until the plan's next call or its end.
const char *zplan_plan_error (const struct zplan_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
