// zplan add: submit a plan.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "clock.h"
#include "json.h"
#include "order.h"
#include "print.h"
#include "rfc3339.h"
#include "zonefile.h"

static const char about[] =
    "Submit a plan: the station sends the command to the target when it is time.\n\n"
    "  zplan add --station mail --command send --arg 42 --in 90s\n"
    "  zplan add --station billing --command close --monthly -1@23:00\n"
    "  zplan add --station news --publish-title tick --content hi --every 10m\n"
    "  zplan add --station mail --command sweep --weekly mon@08:30 --id 1f\n"
    "  zplan add --station board --command approve --vote majority --vote-deadline 60\n";

static int check_order (const struct order *order, char id[PLAN_ID_SIZE], struct reason *reason)
{
    struct reason why;
    if (!order->station)
        reason_set (reason, "--station: must be given");
    else if (!order->command && !order->publish_title)
        reason_set (reason, "--command: must be given (or --publish-title, for pub targets)");
    else if (order->id && call_plan_id (order->id, id, &why))
        reason_set (reason, "--id: %s", why.text);
    else
        return 0;
    return -1;
}

// -- the request

// The PLAN frame; `vote` may be NULL and is borrowed.
static json_t *plan_of (const struct when *when, const char *title, json_t *vote)
{
    const struct schedule *rule = &when->rule;
    json_t *plan = json_object ();
    if (title)
        json_object_set_new (plan, "description", json_string (title));
    json_object_set_new (plan, "plan_type", json_integer (rule->type));
    json_object_set_new (plan, "plan_value", json_integer (rule->value));
    json_object_set_new (plan, "plan_repet", json_integer (rule->repeat));
    json_object_set_new (plan, "no_keep", json_boolean (rule->keep));
    if (rule->base_time)
        json_object_set_new (plan, "plan_time", json_integer (rule->base_time));
    if (when->skip)
        json_object_set_new (plan, "skip_set", json_integer (when->skip));
    if (vote)
        json_object_set (plan, "vote", vote);
    return plan;
}

static int submit (struct zplan_client *client, const struct order *order, const char *plan,
                   const char *id, struct zplan_reply *ret)
{
    struct zplan_frame frames[ORDER_FRAMES_MAX];
    struct zplan_submission submission = {
        .station = order->station, .plan = plan, .id = id, .frames = frames};
    struct order_frames parts = order_frames (order);
    for (size_t i = 0; i < ORDER_FRAME_TYPES; i++)
        for (size_t j = 0; j < parts.types[i].count; j++) {
            const char *text = parts.types[i].texts[j];
            frames[submission.count++] =
                (struct zplan_frame){parts.types[i].type, text, strlen (text)};
        }
    return zplan_client_submit (client, &submission, ret);
}

// -- the answer

static int report (const struct cli *cli, const struct zplan_reply *reply, const struct when *when,
                   const struct zone *zone)
{
    struct span id = call_frame (reply, ZERO_FRAME_GLOBAL_ID);
    if (reply->status != ZERO_STATUS_PLAN_ID || id.size == 0) {
        complain (cli->connect, span_text ("answers, but keeps no plan: is it a plan station?"));
        return EXIT_REFUSED;
    }
    struct occurrence first;
    char text[RFC3339_SIZE] = "";
    if (schedule_first (&when->rule, zone, when->rule.received, when->skip, &first))
        rfc3339_format (first.time, text);
    if (cli->json) {
        json_t *answer = json_object ();
        json_object_set_new (answer, "id", json_from_frame (id));
        json_object_set_new (answer, "first", *text ? json_string (text) : json_null ());
        print_json (answer);
        json_decref (answer);
        return EXIT_DONE;
    }
    printf ("plan ");
    print_bytes (id);
    if (when->rule.type == SCHEDULE_NONE)
        printf (" accepted, runs at once\n");
    else
        printf (" accepted%s%s\n", *text ? ", first run at " : "", text);
    return EXIT_DONE;
}

static int send_order (const struct cli *cli, const struct order *order, const char *id,
                       const struct zone *zone)
{
    struct reason reason;
    struct when when;
    json_t *vote;
    if (when_read (&order->words, zone, clock_wall_us (), &when, &reason) ||
        call_text ("--title", order->title, &reason) || order_vote (order, NULL, &vote, &reason))
        return usage_error (cli->argv[0], &reason);
    int code;
    struct zplan_reply reply;
    json_t *plan = plan_of (&when, order->title, vote);
    char *text = json_write (plan);
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = call_judge (cli, submit (client, order, text, id, &reply), &reply, NULL);
    if (client && code == EXIT_DONE)
        code = report (cli, &reply, &when, zone);
    zplan_client_destroy (&client);
    free (text);
    json_decref (plan);
    json_decref (vote);
    return code;
}

int verb_add (const struct cli *cli)
{
    struct order order = {0};
    const struct usage usage = {
        .synopsis = "zplan add --station NAME --command WORD [--arg TEXT]... [TIME]",
        .about = about,
        .groups = {order_options (&order), when_options (&order.words)},
        .group_count = 2,
        .words = "no arguments",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;

    struct reason reason;
    char id[PLAN_ID_SIZE];
    if (check_order (&order, id, &reason))
        return usage_error (cli->argv[0], &reason);
    const char *name = order.words.timezone ? order.words.timezone : "UTC";
    struct zone *zone = zonefile_load (name, &reason);
    if (!zone)
        return usage_error (cli->argv[0], &reason);
    code = send_order (cli, &order, order.id ? id : NULL, zone);
    zone_destroy (&zone);
    return code;
}
