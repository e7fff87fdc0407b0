// The verbs of the command line: one function each, found through the table of args/verb_table.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// How every verb ends (contract chapter 8).
enum exit_code { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_ANSWER = 3 };

// What main.c read before the verb runs: the options that all verbs share, wherever they stood.
struct cli {
    const char *connect;             // the station's request endpoint
    const char *publish;             // the station's result endpoint
    const char *key;                 // file of the own secret certificate; NULL: without CURVE
    const char *server_key;          // the station's public key; NULL with `key`
    int64_t timeout_ms;              // how long to wait for an answer
    const char *json;                // output for programs: "names" or "wire"; NULL: for people
    const char *color;               // auto, always or never
    const char *times;               // auto, relative, absolute, both or unix
    const struct describe *describe; // non-NULL: describe the options instead of running
    int argc;                        // the verb's own arguments, options not yet read
    const char *verb;                // its name; argv[0] is what was typed, which may be an alias
    char **argv;
};

int verb_add (const struct cli *cli);
int verb_next (const struct cli *cli);
int verb_list (const struct cli *cli);
int verb_show (const struct cli *cli);
int verb_why (const struct cli *cli);
int verb_team (const struct cli *cli);
int verb_update (const struct cli *cli);
int verb_manage (
    const struct cli *cli); // pause, resume, reset, skip, close, remove, run, cancel, done
int verb_export (const struct cli *cli);
int verb_import (const struct cli *cli);
int verb_cron (const struct cli *cli);
int verb_watch (const struct cli *cli);
int verb_history (const struct cli *cli);
int verb_logs (const struct cli *cli);
int verb_result (const struct cli *cli);
int verb_archive (const struct cli *cli);
int verb_kind (const struct cli *cli);
int verb_target (const struct cli *cli);
int verb_limit (const struct cli *cli);
int verb_callback (const struct cli *cli);
int verb_whoami (const struct cli *cli);
int verb_load (const struct cli *cli);
int verb_flow (const struct cli *cli);
int verb_status (const struct cli *cli);
int verb_stats (const struct cli *cli);
int verb_top (const struct cli *cli);
int verb_metrics (const struct cli *cli);
int verb_doctor (const struct cli *cli);
int verb_handover (const struct cli *cli);
int verb_ping (const struct cli *cli);
int verb_keygen (const struct cli *cli);
int verb_web (const struct cli *cli);
int verb_completion (const struct cli *cli);
int verb_work (const struct cli *cli);
int verb_workers (const struct cli *cli);
int verb_drain (const struct cli *cli);
