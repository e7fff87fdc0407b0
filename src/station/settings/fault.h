// Why a station does not start, and the type of the function that reads its settings.
#pragma once

#include "settings_table.h"

// Why a station does not start, or ends.
enum station_fault {
    STATION_FAULT_NOW,      // a restart may help
    STATION_FAULT_SETTINGS, // a setting or what it names (a file, a zone): fails again at the next
                            // start
    STATION_FAULT_DATA      // the data of the embedded Redis are damaged: a restart fails again
};

// Reads all settings again, from all their sources. 0, or -1 with a reason.
typedef int station_read_fn (struct station_settings *ret, struct reason *reason);
