#include "options.h"

#include <stdio.h>

#include "endpoints.h"
#include "nearest.h"
#include "socket.h"
#include "station_name.h"

enum { HELP_COLUMN = 24 };

#define FIELD(field) offsetof (struct options, field)

static const struct setting rows[] = {
    {"name", "--name", "NAME", "", SETTING_TEXT, FIELD (name), 0, 0, NULL,
     "what the station is called: 1..64 of A-Z a-z 0-9 _ . -"},
    {"type", "--type", "TYPE", "", SETTING_TEXT, FIELD (type_name), 0, 0, NULL,
     "api: passes each request to one worker; pub: publishes it; vote: asks all workers"},
    {"request", "--request", "ENDPOINT", "", SETTING_TEXT, FIELD (request), 0, 0, NULL,
     "where clients and the plan proxy station connect"},
    {"workers", "--workers", "ENDPOINT", "", SETTING_TEXT, FIELD (workers), 0, 0, NULL,
     "where workers connect (api and vote)"},
    {"publish", "--publish", "ENDPOINT", "", SETTING_TEXT, FIELD (publish), 0, 0, NULL,
     "where subscribers connect (pub only)"},
    {"plan", "--plan", "ENDPOINTS", "", SETTING_TEXT, FIELD (plan), 0, 0, NULL,
     "the plan proxy station's request endpoint: receives results whose requester has "
     "disconnected; of several stations on one Redis all, with commas between"},
    {"curve", "--curve", "FILE", "", SETTING_TEXT, FIELD (curve), 0, 0, NULL,
     "the station's secret certificate (zplan keygen): all connections are encrypted"},
    {"allow", "--allow", "DIR", "", SETTING_TEXT, FIELD (allow), 0, 0, NULL,
     "with --curve: the folder of the public certificates that may connect"},
    {"plan_key", "--plan-key", "KEYS", "", SETTING_TEXT, FIELD (plan_key), 0, 0, NULL,
     "with --curve and --plan: the plan proxy station's public key; there this station's key "
     "needs the role result; of several stations one for all, or one for each, with commas "
     "between"},
    {"insecure", "--insecure", NULL, "0", SETTING_FLAG, FIELD (insecure), 0, 0, NULL,
     "without --curve: bind to addresses that other machines reach"},
    {"worker_timeout", "--worker-timeout", "MS", "10000", SETTING_NUMBER, FIELD (worker_timeout),
     100, 3600000, NULL, "drop a worker after so long without a message", .unit_ms = 1},
    {"voter_timeout", "--voter-timeout", "MS", "300000", SETTING_NUMBER, FIELD (voter_timeout), 100,
     31536000000, NULL, "vote: a voter times out after so long without a vote or WAITING",
     .unit_ms = 1},
    {"queue", "--queue", "N", "1000", SETTING_NUMBER, FIELD (queue), 0, 100000, NULL,
     "jobs that may wait while all workers are busy; vote: ballots that may wait"},
    {"grace", "--grace", "SECONDS", "10", SETTING_NUMBER, FIELD (grace), 0, 86400, NULL,
     "at SIGTERM wait at most so long for jobs in progress", .unit_ms = 1000},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
    {"log_format", "--log-format", "FORMAT", "logfmt", SETTING_TEXT, FIELD (log_format), 0, 0, NULL,
     "logfmt, or json: one JSON object per line"},
};

static const struct setting_table table = {rows, sizeof rows / sizeof *rows};

static const char *const type_names[] = {
    [STATION_API] = "api", [STATION_PUB] = "pub", [STATION_VOTE] = "vote"};

// Check the combination of CURVE options.
static int check_curve (const struct options *self, struct reason *reason)
{
    if (!*self->curve != !*self->allow)
        return reason_set (reason, "--curve FILE and --allow DIR go together");
    if (*self->plan_key && !*self->curve)
        return reason_set (reason, "--plan-key: wants --curve FILE");
    if (*self->plan_key && !*self->plan)
        return reason_set (reason, "--plan-key: wants --plan ENDPOINT");
    if (*self->plan_key && !server_keys_valid (self->plan_key, 0))
        return reason_set (reason, "--plan-key: want 40 characters of Z85, the plan proxy "
                                   "station's public key");
    return 0;
}

// Check that the endpoints are valid and, without CURVE, that none is bound where other machines
// reach it.
static int check_endpoints (const struct options *self, struct reason *reason)
{
    const struct {
        const char *option, *endpoint;
    } bound[] = {
        {"--request", self->request}, {"--workers", self->workers}, {"--publish", self->publish}};
    struct reason why = {"out of memory"};
    struct endpoints plan = {0};
    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++) {
        const char *endpoint = bound[i].endpoint;
        if (*endpoint && endpoint_check (endpoint, &why))
            reason_set (reason, "%s: %s", bound[i].option, why.text);
        else if (!*self->curve && !self->insecure && !endpoint_is_local (endpoint))
            reason_set (reason, "%s: %s is not loopback: set --curve and --allow, or --insecure",
                        bound[i].option, quoted (span_text (endpoint)));
        else
            continue;
        return -1;
    }
    int rc = *self->plan ? endpoints_read (&plan, self->plan, &why) : 0;
    if (rc)
        reason_set (reason, "--plan: %s", why.text);
    else if (*self->plan_key && !server_keys_valid (self->plan_key, plan.count))
        rc = reason_set (reason, "--plan-key: want one key, or one for each endpoint of --plan");
    endpoints_clear (&plan);
    return rc;
}

// Check the rules that concern several options.
static enum options_result check_options (struct options *self, struct reason *reason)
{
    enum { TYPES = sizeof type_names / sizeof *type_names };
    int type = word_index (type_names, TYPES, self->type_name);
    self->type = (enum station_type)type;
    bool publishes = self->type == STATION_PUB;
    const char *needed = publishes ? self->publish : self->workers;
    const char *forbidden = publishes ? self->workers : self->publish;
    if (type < 0)
        reason_set (reason, "--type: want api, pub or vote");
    else if (!station_name_valid (span_text (self->name)))
        reason_set (reason, "--name: want 1..64 of A-Z a-z 0-9 _ . -");
    else if (!log_level_known (self->log_level))
        reason_set (reason, "--log-level: want error, warn, info or debug");
    else if (!log_format_known (self->log_format))
        reason_set (reason, "--log-format: want logfmt or json");
    else if (!*self->request)
        reason_set (reason, "--request ENDPOINT is missing");
    else if (!*needed)
        reason_set (reason, "%s ENDPOINT is missing: a station of type %s needs it",
                    publishes ? "--publish" : "--workers", self->type_name);
    else if (check_curve (self, reason))
        return OPTIONS_WRONG;
    else if (*forbidden)
        reason_set (reason, "%s: not with --type %s", publishes ? "--workers" : "--publish",
                    self->type_name);
    else if (check_endpoints (self, reason) == 0)
        return OPTIONS_READ;
    return OPTIONS_WRONG;
}

static const char help_head[] =
    "zstationd - a target station for plans, and for calls\n"
    "\n"
    "usage: zstationd --name NAME --type api --request ENDPOINT --workers ENDPOINT [options]\n"
    "       zstationd --name NAME --type pub --request ENDPOINT --publish ENDPOINT [options]\n"
    "       zstationd --name NAME --type vote --request ENDPOINT --workers ENDPOINT [options]\n"
    "\n"
    "A plan proxy station (zpland) sends due plans to a target station. This one passes each run "
    "to\n"
    "the least recently used idle worker (api), publishes it (pub), or asks all workers (vote). "
    "Where\n"
    "workers can reach zpland itself no target station is needed: `zplan work --pull`. An ENDPOINT "
    "is\n"
    "tcp://HOST:PORT or ipc://PATH.\n"
    "\n"
    "A vote goes to every worker that has joined when it begins; a busy one gets it when it is "
    "idle.\n"
    "The requester receives VOTE_START with the voters' names as a JSON array, then each answer "
    "with\n"
    "the voter's name in a RESPONSER frame, VOTE_BYE for a voter that has left or timed out, and\n"
    "VOTE_END when no voter is left. If two workers have the same name, the second to join is the\n"
    "voter NAME#2, and so on.\n"
    "\n"
    "A run that is cancelled while it waits for a worker is removed; the worker that has it is\n"
    "notified. `zplan workers --connect ENDPOINT` lists the workers, `zplan drain NAME` lets one "
    "end\n"
    "its jobs and leave: both use --request, and any admitted client may send them.\n"
    "\n"
    "With --curve all connections are encrypted, and only keys in the folder --allow may connect:\n"
    "clients, workers (zplan work --key --server-key) and the plan proxy station (zpland "
    "--station\n"
    "NAME=TYPE@ENDPOINT,curve=KEY, with the public key of this station). Changes of the folder "
    "apply\n"
    "within a second, with many files within 4 s; connected peers stay connected. Two keys of one\n"
    "name are rejected. Without --curve anybody who reaches a port may use it, so addresses that\n"
    "other machines reach are rejected unless --insecure is given.\n"
    "\n"
    "options (SECONDS and MS may be durations: 90s, 5m, 500ms), besides --help and --version:\n";

static const char help_tail[] =
    "\n"
    "It runs in the foreground, logs to stderr, and prints `ready` once it serves. At SIGTERM or\n"
    "SIGINT it accepts nothing more: new requests, and those that wait for a worker, are answered\n"
    "NOT_WORKER. It waits for jobs in progress and for votes that have begun; after --grace, or at "
    "a\n"
    "second signal, jobs are answered as failed and votes end. Exit status: 0 stopped, 1 could "
    "not\n"
    "start, 2 usage.\n"
    "\n"
    "example: a station whose jobs are done by a script\n"
    "  zstationd --name jobs --type api --request tcp://127.0.0.1:7930 \\\n"
    "            --workers tcp://127.0.0.1:7931 --plan tcp://127.0.0.1:7920\n"
    "  zplan work --station tcp://127.0.0.1:7931 -- ./report.sh\n"
    "  zpland --station jobs=api@tcp://127.0.0.1:7930\n";

static void print_help (void)
{
    fputs (help_head, stdout);
    for (size_t i = 0; i < table.count; i++) {
        const struct setting *row = &table.rows[i];
        char option[64];
        snprintf (option, sizeof option, "%s %s", row->option, row->metavar ? row->metavar : "");
        printf ("  %-*s %s", HELP_COLUMN, option, row->help);
        if (*row->fallback && row->type != SETTING_FLAG)
            printf (" (default %s)", row->fallback);
        putchar ('\n');
    }
    fputs (help_tail, stdout);
}

enum options_result options_read (int argc, char **argv, struct options *ret, struct reason *reason)
{
    *ret = (struct options){0};
    settings_reset (&table, ret);
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0) {
            print_help ();
            return OPTIONS_DONE;
        }
        if (strcmp (argv[i], "--version") == 0) {
            puts ("zstationd " ZPLAN_VERSION);
            return OPTIONS_DONE;
        }
        const struct setting *row = settings_option (&table, argv[i]);
        if (!row) {
            reason_set (reason, "%s: no such option", quoted (span_text (argv[i])));
            return OPTIONS_WRONG;
        }
        const char *value = row->type == SETTING_FLAG ? "1" : argv[++i];
        if (!value) {
            reason_set (reason, "%s: %s is missing", row->option, row->metavar);
            return OPTIONS_WRONG;
        }
        if (setting_set (row, ret, value, reason))
            return OPTIONS_WRONG;
    }
    return check_options (ret, reason);
}
