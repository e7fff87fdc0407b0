#include "options.h"

#include <stdio.h>

enum { HELP_COLUMN = 26 };

#define FIELD(name) offsetof (struct options, name)

static const struct setting rows[] = {
    {"connect", "--connect", "ENDPOINT", "", SETTING_TEXT, FIELD (connect), 0, 0, NULL,
     "the station's request socket"},
    {"publish", "--publish", "ENDPOINT", "", SETTING_TEXT, FIELD (publish), 0, 0, NULL,
     "the station's result socket"},
    {"target", "--target", "ENDPOINT", "", SETTING_TEXT, FIELD (target), 0, 0, NULL,
     "where to be the api target"},
    {"bind", "--bind", "ENDPOINT", "", SETTING_TEXT, FIELD (target), 0, 0, NULL,
     "where to be the api target"},
    {"station", "--station", "NAME", "jobs", SETTING_TEXT, FIELD (station), 0, 0, NULL,
     "what the station calls that target"},
    {"redis", "--redis", "unix:PATH", "", SETTING_TEXT, FIELD (redis), 0, 0, NULL,
     "of its socket; late: the station's, for --mode due"},
    {"mode", "--mode", "MODE", "none", SETTING_TEXT, FIELD (mode), 0, 0, NULL,
     "none: plans that run at once; due: plans whose scores are moved to spaced instants"},
    {"behave", "--behave", "HOW", "good", SETTING_TEXT, FIELD (behave), 0, 0, NULL,
     "good; slow: answers 100 runs a second; silent: reads, never answers; dead: is not there"},
    {"plans", "--plans", "N", "10000", SETTING_NUMBER, FIELD (plans), 1, 100000000, NULL,
     "plans to submit"},
    {"clients", "--clients", "N", "1", SETTING_NUMBER, FIELD (clients), 1, 64, NULL,
     "connections that submit"},
    {"window", "--window", "N", "1000", SETTING_NUMBER, FIELD (window), 1, 1000000, NULL,
     "unacknowledged plans of each connection"},
    {"in", "--in", "SECONDS", "2592000", SETTING_NUMBER, FIELD (due_in_s), 0, 3000000000, NULL,
     "when the plans are due"},
    {"due_in", "--due-in", "SECONDS", "10", SETTING_NUMBER, FIELD (due_in_s), 0, 3000000000, NULL,
     "when all plans are due; what is submitted later runs at once"},
    {"argument", "--argument", "BYTES", "200", SETTING_NUMBER, FIELD (argument), 16, 1000000, NULL,
     "of the ARG frame"},
    {"expect", "--expect", "N", "0", SETTING_NUMBER, FIELD (expect), 0, 100000000, NULL,
     "plans that will run; 0 = those that were submitted"},
    {"seq", "--seq", "N", "-1", SETTING_NUMBER, FIELD (seq), -1, INT64_MAX, NULL,
     "seq of the last broadcast before, so that a gap at the begin is seen; -1 = not known"},
    {"mark", "--mark", "N", "0", SETTING_NUMBER, FIELD (mark), 0, 100000000, NULL,
     "say \"mark\" on standard error when so many runs have come"},
    {"rate", "--rate", "N", "1000", SETTING_NUMBER, FIELD (rate), 1, 1000000, NULL,
     "plans a second"},
    {"seconds", "--seconds", "S", "10", SETTING_NUMBER, FIELD (seconds), 1, 86400, NULL,
     "how long"},
    {"patience", "--patience", "S", "30", SETTING_NUMBER, FIELD (patience_s), 1, 86400, NULL,
     "give up when nothing has happened for so long"},
    {"batch", "--batch", "N", "256", SETTING_NUMBER, FIELD (batch), 1, 1024, NULL,
     "plans in one write"},
    {"in_flight", "--in-flight", "N", "2", SETTING_NUMBER, FIELD (in_flight), 1, 16, NULL,
     "writes under way at one time"},
    {"port", "--port", "N", "11300", SETTING_NUMBER, FIELD (port), 1, 65535, NULL,
     "where beanstalkd listens"},
    {"pid", "--pid", "N", "0", SETTING_NUMBER, FIELD (pid), 0, INT32_MAX, NULL,
     "beanstalkd, which is stopped until all is due"},
    {"skip_submit", "--skip-submit", NULL, "0", SETTING_FLAG, FIELD (skip_submit), 0, 0, NULL,
     "the plans are in Redis already"},
};

static const struct setting_table table = {rows, sizeof rows / sizeof *rows};

static const struct setting *row_of (const char *const *names, const char *option)
{
    const struct setting *row = settings_option (&table, option);
    for (; row && *names; names++)
        if (strcmp (*names, row->name) == 0)
            return row;
    return NULL;
}

enum options_result options_read (const char *const *names, int argc, char **argv,
                                  struct options *ret, struct reason *reason)
{
    *ret = (struct options){0};
    settings_reset (&table, ret);
    // Two rows may share a field: the default of the command's own counts.
    for (const char *const *name = names; *name; name++) {
        const struct setting *row = settings_named (&table, *name);
        if (setting_set (row, ret, row->fallback, reason))
            return OPTIONS_WRONG;
    }
    for (int i = 0; i < argc; i++) {
        const struct setting *row = row_of (names, argv[i]);
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0)
            return OPTIONS_HELP;
        if (!row || (row->metavar && i + 1 == argc)) {
            reason_set (reason, "%s: %s", argv[i], row ? "needs a value" : "no such option");
            return OPTIONS_WRONG;
        }
        if (setting_set (row, ret, row->metavar ? argv[++i] : "1", reason))
            return OPTIONS_WRONG;
    }
    return OPTIONS_READ;
}

void options_print (const char *const *names)
{
    for (; *names; names++) {
        const struct setting *row = settings_named (&table, *names);
        const char *metavar = row->metavar ? row->metavar : "";
        int size = printf ("  %s %s", row->option, metavar);
        printf ("%*s%s", size < HELP_COLUMN ? HELP_COLUMN - size : 1, "", row->help);
        if (*row->fallback && row->metavar)
            printf (" (%s)", row->fallback);
        putchar ('\n');
    }
}
