// The sender: takes callbacks from the station, sends them, and reports the outcomes.
#pragma once

#include "reactor.h"
#include "sender_settings.h"
#include "zplan.h"

struct sender;

// Create a sender. The settings are borrowed, the client is owned from then on, also after a
// failure. NULL: libcurl or the threads of the resolver cannot be started.
struct sender *sender_new (struct reactor *reactor, struct sender_settings *settings,
                           struct zplan_client *client);
void sender_destroy (struct sender **self);

// Take no more callbacks, return those that were not begun, and stop the reactor when the others
// have ended. A second call does not wait for them.
void sender_stop (struct sender *self);
