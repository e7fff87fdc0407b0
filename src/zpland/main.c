// zpland: read the settings, run the station.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "log.h"
#include "process.h"
#include "station.h"

enum { EXIT_NOT_STARTED = 1, EXIT_USAGE = 2 };

int main (int argc, char **argv)
{
    static struct station_settings settings; // large: it holds room for every target
    struct reason reason = {""};
    enum log_level level;
    enum configured configured = configure (argc, argv, &settings, &reason);
    if (configured == CONFIGURED_DONE)
        return EXIT_SUCCESS;
    if (configured != CONFIGURED) {
        fprintf (stderr, "zpland: %s\n", reason.text);
        if (configured == CONFIGURED_USAGE)
            fputs ("Try 'zpland --help'.\n", stderr);
        return configured == CONFIGURED_USAGE ? EXIT_USAGE : EXIT_NOT_STARTED;
    }
    log_level_parse (settings.log_level, &level);
    log_start ("zpland", level);
    int signal_fd = process_prepare ();
    struct station *station = station_new (&settings, signal_fd, &reason);
    int rc = station ? station_run (station, &reason) : -1;
    station_destroy (&station);
    if (rc) {
        fprintf (stderr, "zpland: %s\n", reason.text);
        return EXIT_NOT_STARTED;
    }
    return EXIT_SUCCESS;
}
