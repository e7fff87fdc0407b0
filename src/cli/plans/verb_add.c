// zplan add: submit a plan.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "clock.h"
#include "json.h"
#include "submit_lines.h"
#include "only.h"
#include "action_frame.h"
#include "print.h"
#include "retry_option.h"
#include "rfc3339.h"
#include "zonefile.h"

static const char about[] =
    "Submit a plan: the station sends the command to the target when it is time.\n"
    "Without --target it is for the only target that the station knows.\n\n"
    "  zplan add --command report --arg q3 --in 90s\n"
    "  zplan add --target mail --command send --arg 42 --in 90s\n"
    "  zplan add --target billing --command close --monthly -1@23:00\n"
    "  zplan add --target news --publish-title tick --content hi --every 10m\n"
    "  zplan add --target mail --command sweep --weekly mon@08:30 --id 1f\n"
    "  zplan add --target jobs --command report --cron '30 8 * * MON-FRI' \\\n"
    "            --timezone Europe/Berlin --misfire latest --misfire-window 2h\n"
    "  zplan add --target jobs --command pull --every 10m --run-timeout 5m \\\n"
    "            --retry exponential:1s:8,manual --overlap-policy skip\n"
    "  zplan add --target jobs --command dose --every 1h --cycle 2,3,5 --iteration 4\n"
    "  zplan add --target board --command approve --vote majority --vote-deadline 60\n"
    "  zplan add --flow nightly --cron '0 2 * * *' --param region=eu --name nightly\n"
    "  zplan add --from plans.ndjson\n\n"
    "Without --retry a failed occurrence is tried 3 times, 10 s after the first failure,\n"
    "then 20 s; then the next occurrence has its turn. A plan that runs once is tried 10\n"
    "times within 85 minutes; then it stops in state error (`zplan list --dead`).\n"
    "--retry forever retries until it succeeds, 1 s to 1 minute apart. With --kind the\n"
    "kind says what counts; without a `retry` of its own it is tried until it succeeds.\n\n"
    "--on-failure COMMAND is called when all tries of an occurrence have failed: as a\n"
    "plan of its own, which runs once, at once, and is tried 10 times. Its argument is\n"
    "JSON: plan, name, title, target, command, status, reason, exec_id, worker,\n"
    "attempts, nominal_at, started_at, ended_at. It is not called for runs that an\n"
    "operator cancelled or started, nor for missed times.\n\n"
    "  zplan add --target jobs --command backup --daily 02:00 --on-failure notify\n\n"
    "A line of --from is a JSON object: the options as fields, without dashes in\n"
    "front, texts, numbers or true; `arg` may be an array. Instead of a kind of time\n"
    "it may have the fields of the wire (plan_type, plan_value, plan_repet,\n"
    "plan_time, no_keep, skip_set, description); those of policies may stand in\n"
    "either form (retry, timeout, start_time ...). Its timezone replaces that of\n"
    "the command line. What `zplan export` writes is accepted\n"
    "as by `zplan import`, and so is a plan as `zplan show --json` prints it, of which\n"
    "{id, name, target, title, command, args, frames, spec, hold} are read: it is a\n"
    "new plan. frames replace command and args. A rejected line is reported with its\n"
    "number, and the next one follows. Lines with an id may be sent again: a plan that already\n"
    "exists is left as it is.\n\n"
    "With --json `result` says what became of the plan: added, exists (nothing was\n"
    "changed), updated or replaced (--if-exists).\n\n"
    "  {\"station\": \"jobs\", \"command\": \"sweep\", \"every\": \"10m\", \"id\": \"1f\"}\n"
    "  {\"station\": \"jobs\", \"command\": \"send\", \"arg\": [\"a\", \"b\"], \"in\": \"90s\"}\n"
    "  {\"station\": \"jobs\", \"command\": \"report\", \"cron\": \"30 8 * * MON\",\n"
    "   \"timezone\": \"Europe/Berlin\", \"retry\": \"fixed:30s:5\"}\n"
    "  {\"station\": \"news\", \"publish_title\": \"tick\", \"plan_type\": \"time\",\n"
    "   \"plan_time\": \"2027-01-01T00:00:00Z\"}\n";

static int check_action (const struct action_options *action, char id[PLAN_ID_SIZE],
                         struct reason *reason)
{
    struct reason why;
    if (!action->command && !action->publish_title && !action->flow)
        reason_set (reason, "--command: must be given (or --publish-title, for pub targets)");
    else if (action->id && call_plan_id (action->id, id, &why))
        reason_set (reason, "--id: %s", why.text);
    else
        return 0;
    return -1;
}

// -- the answer

// A plan that is submitted.
struct add_request {
    const struct action_options *action;
    const char *id; // NULL: none was given
    const struct zone *zone;
    const struct when *when;
    const json_t *plan; // the PLAN frame
};

static int report_added (const struct cli *cli, const struct zplan_reply *reply,
                         const struct add_request *request)
{
    const struct when *when = request->when;
    struct span id = call_frame (reply, ZERO_FRAME_GLOBAL_ID);
    if (reply->status != ZERO_STATUS_PLAN_ID || id.size == 0)
        return complain (cli->connect,
                         span_text ("answers, but keeps no plan: is it a plan station?"));
    // The results, as people and programs read them.
    static const char *const words[] = {[ZPLAN_STORED_NEW] = "added",
                                        [ZPLAN_STORED_BEFORE] = "exists",
                                        [ZPLAN_STORED_UPDATED] = "updated",
                                        [ZPLAN_STORED_REPLACED] = "replaced"};
    enum zplan_stored stored = zplan_reply_stored (reply);
    struct occurrence first = {.time = zplan_reply_first_time (reply)};
    char text[RFC3339_SIZE] = "";
    // An older station does not return the first time: then compute it by the same rules.
    bool known = first.time || (stored == ZPLAN_STORED_NEW &&
                                schedule_first (&when->rule, request->zone, when->rule.received,
                                                when->skip, &first));
    if (known)
        rfc3339_format (first.time, text);
    if (cli->json) {
        print_answer_new (cli, JSON_ANSWER,
                          json_pack ("{s:o, s:s?, s:s, s:o*}", "id", json_from_frame (id), "first",
                                     *text ? text : NULL, "result", words[stored], "there",
                                     stored == ZPLAN_STORED_NEW ? NULL : json_true ()));
        return EXIT_DONE;
    }
    print_between ("plan ", id, "");
    if (stored != ZPLAN_STORED_NEW) {
        printf (" %s", stored == ZPLAN_STORED_BEFORE ? "already exists" : words[stored]);
        // The status is "+plan: already exists, and is running", or "+plan: updated; its state is
        // pause".
        char status[REASON_MAX];
        const char *more = strpbrk (zplan_reply_words (reply, status, sizeof status), ",;");
        if (more)
            printf ("%s", more);
        else if (*text)
            printf (", next run at %s", text);
        putchar ('\n');
    } else if (request->action->hold) {
        printf (" accepted, paused until `zplan reset`\n");
    } else if (field_is_true (request->plan, "paused")) {
        printf (" accepted, paused: it runs by `zplan run`\n");
    } else if (when->rule.type == SCHEDULE_NONE) {
        printf (" accepted, runs at once\n");
    } else {
        printf (" accepted%s%s\n", *text ? ", first run at " : "", text);
    }
    if (stored == ZPLAN_STORED_NEW && !request->action->flow) {
        printf ("retry: ");
        retry_summary (stdout, request->plan);
        putchar ('\n');
    }
    return EXIT_DONE;
}

// Warn about a plan that keeps its target busy all the time: usually a typing error.
static void warn_of_pace (const struct when *when, const struct zone *zone)
{
    const struct schedule *rule = &when->rule;
    struct occurrence first, second;
    bool interval = rule->type == SCHEDULE_SECOND && !rule->cycle;
    if (interval && rule->value == 0)
        complain (NULL, span_text ("warning: --every 0s: the next run starts as soon as the last "
                                   "one has ended, at most once a second"));
    else if (interval ? rule->value == 1
                      : rule->type == SCHEDULE_CRON &&
                            schedule_first (rule, zone, rule->received, when->skip, &first) &&
                            schedule_next (rule, zone, &first, first.time, &second) &&
                            second.time - first.time <= 1)
        complain (NULL, span_text ("warning: the plan runs every second, 86400 times a day"));
}

// Submit the plan to its target, or else to the only one that the station knows.
static int submit_plan (const struct cli *cli, const struct add_request *request)
{
    int code;
    const struct action_options *action = request->action;
    char only[TARGET_NAME_SIZE], *text = json_write (request->plan);
    struct zplan_reply reply;
    struct zplan_frame frames[ACTION_FRAMES_MAX];
    struct zplan_submission submission = {.station = action->station,
                                          .plan = text,
                                          .id = request->id,
                                          .frames = frames,
                                          .count = action_frames (action, frames)};
    struct zplan_client *client = call_open (cli, &code);
    if (client && !action->station) {
        code = only_target_find (cli, client, NULL, "--target", only);
        submission.station = only;
    }
    if (client && code == EXIT_DONE)
        code = call_report (cli, zplan_client_submit (client, &submission, &reply), &reply, NULL);
    if (client && code == EXIT_DONE)
        code = report_added (cli, &reply, request);
    zplan_client_destroy (&client);
    free (text);
    return code;
}

static int add_one_plan (const struct cli *cli, const struct action_options *action, const char *id,
                         const struct zone *zone)
{
    int code;
    struct reason reason;
    struct when when = {0};
    json_t *vote = NULL, *plan = NULL;
    bool good = action_vote (action, NULL, &vote, &reason) == 0 &&
                when_read (&action->words, zone, clock_wall_us (), &when, &reason) == 0;
    if (good) {
        plan = action_plan_frame (action, &when, vote);
        good = action_params (action, plan, &reason) == 0;
    }
    if (good) {
        if (!action->flow) // a flow plan is not retried, its steps are
            retry_add_default (plan, action->words.terms.retry);
        warn_of_pace (&when, zone);
        code = submit_plan (cli, &(struct add_request){action, id, zone, &when, plan});
    } else {
        code = usage_error (cli->argv[0], &reason);
    }
    json_decref (plan);
    json_decref (vote);
    when_clear (&when);
    return code;
}

// -- many plans, from a file

static const struct option from_rows[] = {
    TEXT_OPTION (struct submit_lines, file, "--from", "FILE",
                 "add a plan for each line of a file, or of standard input (-)",
                 .offered = VALUES_FILES),
    FLAG_OPTION (struct submit_lines, stop_on_error, "--stop-on-error",
                 "with --from: stop at the first line that is rejected"),
};

enum { GROUPS_OF_ONE = 4 }; // the first groups: options of a single plan

static int add_from_file (const struct cli *cli, const struct usage *usage,
                          struct action_options *action, struct submit_lines *load)
{
    struct reason reason;
    load->timezone = action->words.timezone;
    action->words.timezone = NULL;
    const char *given = options_given (usage->groups, GROUPS_OF_ONE);
    if (!given)
        return submit_lines (cli, load);
    reason_set (&reason, "--from and %s: want one or the other", given);
    return usage_error (cli->argv[0], &reason);
}

int verb_add (const struct cli *cli)
{
    struct action_options action = {0};
    struct submit_lines load = {0};
    const struct usage usage = {
        .synopsis = "zplan add [--target NAME] --command WORD [--arg TEXT]... [TIME]  |  "
                    "zplan add --from FILE [--timezone ZONE] [--stop-on-error]",
        .about = about,
        .groups = {action_option_group (&action), when_options (&action.words),
                   terms_options (&action.words.terms), terms_names (&action.words.terms),
                   OPTION_GROUP ("Many plans", from_rows, &load)},
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;

    if (load.file)
        return add_from_file (cli, &usage, &action, &load);
    struct reason reason;
    char id[PLAN_ID_SIZE];
    if (action_set_target (&action, &reason) || check_action (&action, id, &reason))
        return usage_error (cli->argv[0], &reason);
    const char *name = action.words.timezone ? action.words.timezone : "UTC";
    struct zone *zone = zonefile_load (name, &reason);
    if (!zone)
        return usage_error (cli->argv[0], &reason);
    code = add_one_plan (cli, &action, action.id ? id : NULL, zone);
    zone_destroy (&zone);
    return code;
}
