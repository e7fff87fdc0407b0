// The options of the load generator: one struct for all of its commands, each of which takes some.
#pragma once

#include "settings.h"

struct options {
    char connect[SETTING_TEXT_MAX]; // the station's request socket
    char publish[SETTING_TEXT_MAX]; // its result socket
    char target[SETTING_TEXT_MAX];  // where we are the target
    char station[SETTING_TEXT_MAX]; // the name of the target
    char redis[SETTING_TEXT_MAX];
    char mode[SETTING_TEXT_MAX];
    char behave[SETTING_TEXT_MAX];
    int64_t plans, clients, window;
    int64_t due_in_s;
    int64_t argument; // bytes
    int64_t expect;   // runs, where others submit
    int64_t seq;      // of the last broadcast before; -1 = not known
    int64_t mark;     // say so when this many runs have come; 0 = never
    int64_t rate, seconds;
    int64_t batch, in_flight; // of the limit of Redis
    int64_t port, pid;        // of beanstalkd
    int64_t patience_s;       // without anything happening
    bool skip_submit;
};

enum options_result { OPTIONS_READ, OPTIONS_HELP, OPTIONS_WRONG };

// Read the options of a command, which takes those named in `names` (the last is NULL).
enum options_result options_read (const char *const *names, int argc, char **argv,
                                  struct options *ret, struct reason *reason);

void options_print (const char *const *names);
