// The settings of zpland from its command line and its ZPL file.
#pragma once

#include "settings_table.h"

enum configured {
    CONFIGURED,       // go on
    CONFIGURED_DONE,  // --help or --version was answered
    CONFIGURED_USAGE, // the command line is wrong
    CONFIGURED_WRONG  // a setting or the file is wrong
};

// Defaults, then the file of -c, then --set and the options in their order. Anything but CONFIGURED
// and CONFIGURED_DONE leaves a reason.
enum configured configure (int argc, char **argv, struct station_settings *ret,
                           struct reason *reason);
