// The verbs of the command line: one function each, found through the table of args/verb_table.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The exit statuses of every verb.
enum exit_code { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_ANSWER = 3 };

// What main.c read before the verb runs: the options that all verbs share, wherever they were
// given.
struct cli {
    const char *connect;             // the station's request endpoint
    const char *publish;             // the station's result endpoint
    const char *key;                 // file of the client's secret certificate; NULL: no CURVE
    const char *server_key;          // the station's public key; NULL with `key`
    int64_t timeout_ms;              // how long to wait for an answer
    const char *json;                // output for programs: "names" or "wire"; NULL: for people
    const char *color;               // auto, always or never
    const char *times;               // auto, relative, absolute, both or unix
    const struct describe *describe; // non-NULL: describe the options instead of running
    int argc;                        // the verb's own arguments, options not yet read
    const char *verb; // name of the verb; argv[0] is what was typed, possibly an alias
    char **argv;
};

// Run the verb. Returns an exit code.
typedef int verb_fn (const struct cli *cli);

// verb_manage: pause, resume, reset, skip, close, remove, run, cancel and done.
verb_fn verb_add, verb_next, verb_list, verb_show, verb_why, verb_team, verb_update, verb_manage,
    verb_export, verb_import, verb_cron, verb_watch, verb_history, verb_logs, verb_result,
    verb_archive, verb_kind, verb_target, verb_limit, verb_callback, verb_whoami, verb_load,
    verb_flow, verb_status, verb_stats, verb_top, verb_metrics, verb_doctor, verb_handover,
    verb_ping, verb_keygen, verb_web, verb_completion, verb_work, verb_workers, verb_drain;
