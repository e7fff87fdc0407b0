// zplan-bench: the load generator. It speaks the public protocol (proto/) and knows
// nothing of the station's inside; one command is one scenario, told in one line of JSON.
// --version is libzmq's.
#include "load.h"

#include <stdio.h>

#include "traffic.h"

struct command {
    const char *name, *about;
    const char *const *options; // their names
    int (*run) (const struct options *options);
};

static const char *const intake_options[] = {"connect",  "station", "plans",    "clients", "window",
                                             "argument", "in",      "patience", NULL};
static const char *const drain_options[] = {
    "connect", "target", "publish",     "station", "plans", "clients",  "window", "argument",
    "due_in",  "expect", "skip_submit", "mark",    "seq",   "patience", NULL};
static const char *const late_options[] = {"connect",  "target",   "station", "rate",
                                           "seconds",  "mode",     "redis",   "window",
                                           "argument", "patience", "mark",    NULL};
static const char *const target_options[] = {"bind", "behave", NULL};

static const struct command commands[] = {
    {"intake", "submit plans that are due far away: how many a second are acknowledged",
     intake_options, load_intake},
    {"drain", "plans that are due at one instant: how many a second are run, written and broadcast",
     drain_options, load_drain},
    {"late", "plans evenly spaced: how late each one reaches the target", late_options, load_late},
    {"target", "an api target, until SIGTERM or SIGINT", target_options, load_target},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help (void)
{
    puts ("Load for a zplan station. Each command prints one line of JSON.\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf ("zplan-bench %s: %s\n", commands[i].name, commands[i].about);
        options_print (commands[i].options);
        putchar ('\n');
    }
}

static int run_command (const struct command *command, int argc, char **argv)
{
    struct options options;
    struct reason reason;
    switch (options_read (command->options, argc, argv, &options, &reason)) {
    case OPTIONS_READ:
        return command->run (&options);
    case OPTIONS_HELP:
        printf ("zplan-bench %s: %s\n", command->name, command->about);
        options_print (command->options);
        return 0;
    case OPTIONS_WRONG:
        break;
    }
    fprintf (stderr, "zplan-bench: %s (try --help)\n", reason.text);
    return 2;
}

int main (int argc, char **argv)
{
    if (argc < 2 || strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0) {
        print_help ();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp (argv[1], "--version") == 0) {
        int major, minor, patch;
        zmq_version (&major, &minor, &patch);
        printf ("%d.%d.%d\n", major, minor, patch);
        return 0;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp (argv[1], commands[i].name) != 0)
            continue;
        int status = run_command (&commands[i], argc - 2, argv + 2);
        traffic_end ();
        return status;
    }
    fprintf (stderr, "zplan-bench: no command '%s' (try --help)\n", argv[1]);
    return 2;
}
