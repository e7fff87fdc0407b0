// The connection of a key to the station.
#pragma once

#include "web_settings.h"
#include "zplan_client.h"

// With the certificate in the file `key`, or without CURVE if it is NULL. NULL with a reason.
struct zplan_client *station_open (const struct web_settings *settings, const char *key,
                                   struct reason *reason);
