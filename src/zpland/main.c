// zpland: read the settings, run the station.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "process.h"
#include "scrub.h"
#include "station.h"

enum { EXIT_NOT_STARTED = 1, EXIT_USAGE = 2 };

// The command line as it was given, to be read again on SIGHUP; what everybody can see of it has no
// secrets any more.
static struct {
    int count;
    char **at;
} arguments;

static void keep_arguments (int argc, char **argv)
{
    arguments.count = argc;
    arguments.at = memory_new ((size_t)(argc + 1) * sizeof *arguments.at);
    for (int i = 0; i < argc; i++)
        arguments.at[i] = memory_text (argv[i]);
    scrub_arguments (argc, argv);
}

static void free_arguments (void)
{
    for (int i = 0; i < arguments.count; i++)
        free (arguments.at[i]);
    free (arguments.at);
}

static int read_settings (struct station_settings *ret, struct reason *reason)
{
    return configure (arguments.count, arguments.at, ret, reason) == CONFIGURED ? 0 : -1;
}

static int complain (const struct reason *reason, int code)
{
    fprintf (stderr, "zpland: %s\n", reason->text);
    if (code == EXIT_USAGE)
        fputs ("Try 'zpland --help'.\n", stderr);
    return code;
}

static int run (struct station_settings *settings, struct reason *reason)
{
    enum log_level level;
    log_level_parse (settings->log_level, &level);
    log_start ("zpland", level);
    if (settings->user[0] && process_become (settings->user, reason))
        return -1;
    process_confine ();
    notify_start ();
    int signal_fd = process_prepare ();
    struct station *station = station_new (settings, read_settings, signal_fd, reason);
    int rc = station ? station_run (station, reason) : -1;
    station_destroy (&station);
    return rc;
}

int main (int argc, char **argv)
{
    static struct station_settings settings; // large: it holds room for every target
    struct reason reason = {""};
    keep_arguments (argc, argv);
    enum configured configured = configure (arguments.count, arguments.at, &settings, &reason);
    int code = EXIT_SUCCESS;
    if (configured == CONFIGURED_USAGE)
        code = complain (&reason, EXIT_USAGE);
    else if (configured == CONFIGURED_WRONG ||
             (configured == CONFIGURED && run (&settings, &reason)))
        code = complain (&reason, EXIT_NOT_STARTED);
    free_arguments ();
    return code;
}
