// The command line of zstationd, as a settings table.
#pragma once

#include "log.h"
#include "settings.h"

enum station_type { STATION_API, STATION_PUB, STATION_VOTE };

struct options {
    char name[SETTING_TEXT_MAX];
    char request[SETTING_TEXT_MAX];
    char workers[SETTING_TEXT_MAX];
    char publish[SETTING_TEXT_MAX];
    char plan[SETTING_TEXT_MAX];     // a list of endpoints; "" = none
    char curve[SETTING_TEXT_MAX];    // "" = connections without CURVE
    char allow[SETTING_TEXT_MAX];    // folder of the keys that may connect; only with `curve`
    char plan_key[SETTING_TEXT_MAX]; // a list of keys; "" = connect to `plan` without CURVE
    bool insecure; // true: bind without `curve` to an address that other machines reach
    char type_name[SETTING_TEXT_MAX];
    char log_level[SETTING_TEXT_MAX];
    char log_format[SETTING_TEXT_MAX];
    int64_t worker_timeout; // milliseconds
    int64_t voter_timeout;  // milliseconds
    int64_t queue;          // how many jobs (vote: ballots) may wait
    int64_t grace;          // seconds from the first signal to the end
    enum station_type type; // parsed from type_name
};

enum options_result { OPTIONS_READ, OPTIONS_DONE, OPTIONS_WRONG };

// Read the command line. OPTIONS_DONE: --help or --version was answered. OPTIONS_WRONG: `reason`
// names the option and the rule.
enum options_result options_read (int argc, char **argv, struct options *ret,
                                  struct reason *reason);
