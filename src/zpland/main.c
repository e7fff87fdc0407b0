// zpland: read the settings, run the station.
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "log.h"
#include "memory.h"
#include "notify.h"
#include "process.h"
#include "scrub.h"
#include "forward_life.h"
#include "station.h"

static const char usage_head[] =
    "Usage: zpland [options]\n"
    "\n"
    "The plan proxy station: stores plans in Redis, sends each to its target when it is due,\n"
    "follows the run and publishes the result. Runs in the foreground, logs to stderr, and\n"
    "prints 'ready' once it serves, or 'standby' while another station owns the plans.\n"
    "\n"
    "Each setting is an option and a line of the settings file (its name there is in "
    "parentheses).\n"
    "Most people need one or two: --station, --data. SECONDS and MS may be durations: 90s, 5m, "
    "500ms.\n";

static const char usage_tail[] =
    "\n"
    "Options:\n"
    "  -c FILE                     read settings from a ZPL file first\n"
    "  --set NAME=VALUE            set any setting by its name in the file\n"
    "  --settings                  print all settings as JSON, for programs\n"
    "  --help, --version\n"
    "\n"
    "Examples:\n"
    "  zpland --data /var/lib/zplan   # with a private Redis; zplan work runs the plans\n"
    "  zpland --data /var/lib/zplan --station jobs=api@tcp://127.0.0.1:7930   # and a target\n";

// Errors in the settings or the data would recur at the next start, so a service manager need not
// restart the program.
enum { EXIT_DATA = 3 };

static const int exit_status[] = {[STATION_FAULT_NOW] = CONFIGURED_NOT_STARTED,
                                  [STATION_FAULT_SETTINGS] = CONFIGURED_MISUSED,
                                  [STATION_FAULT_DATA] = EXIT_DATA};

// A copy of the command line, to reread on SIGHUP. In argv secrets are overwritten, as ps shows it.
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

static const struct configured_program program = {.name = "zpland",
                                                  .table = &station_setting_table,
                                                  .usage_head = usage_head,
                                                  .usage_tail = usage_tail,
                                                  .reloads = true,
                                                  .check = station_settings_check};

static int read_settings (struct station_settings *ret, struct reason *reason)
{
    return configure (&program, arguments.count, arguments.at, ret, reason) == CONFIGURED ? 0 : -1;
}

// Run stations until one stops: after a fenced one a new station starts as a standby. Returns the
// exit status, with a reason if it is not 0.
static int run_station_program (void *values, struct reason *reason)
{
    struct station_settings *settings = values;
    enum station_fault fault;
    log_start ("zpland", settings->log_level, settings->log_format);
    if (settings->user[0] && process_become (settings->user, reason))
        return CONFIGURED_MISUSED;
    process_confine ();
    notify_start ();
    struct forward *forward = forward_new ();
    struct station_config config = {settings, read_settings, process_prepare (), false, forward};
    enum station_end end = STATION_FENCED;
    while (end == STATION_FENCED) {
        struct station *station = station_new (&config, &fault, reason);
        if (!station)
            break;
        end = station_run (station, &fault, reason);
        station_destroy (&station);
        config.yields = true;
    }
    forward_destroy (&forward);
    return end == STATION_STOPPED ? CONFIGURED_STOPPED : exit_status[fault];
}

int main (int argc, char **argv)
{
    static struct station_settings settings; // large: it has an entry for every target
    keep_arguments (argc, argv);
    int code =
        configured_main (&program, arguments.count, arguments.at, &settings, run_station_program);
    for (int i = 0; i < arguments.count; i++)
        free (arguments.at[i]);
    free (arguments.at);
    return code;
}
