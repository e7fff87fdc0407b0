// Who may connect to the station when it has --curve: the keys in the folder --allow.
//
// libzmq sends a ZAP request (ZeroMQ RFC 27) within the process for each new connection. The folder
// is checked then, and read again if it or a file in it has changed. With many files it is not
// checked for each connection, so that connection attempts take a bounded share of the time.
// Existing connections are not affected.
#pragma once

#include <stdbool.h>

#include "reason.h"

struct allow;

// Start to receive ZAP requests; call it before any CURVE server is bound. NULL with a reason: the
// folder cannot be read, or a file in it is not a public certificate. Files whose name begins with
// '.' or ends with "_secret" are ignored.
struct allow *allow_new (const char *folder, struct reason *reason);
void allow_destroy (struct allow **self);

// The socket that receives ZAP requests, for polling; borrowed.
void *allow_socket (const struct allow *self);

// Answer the ZAP requests that were received, at most `most`. Returns how many keys were rejected.
size_t allow_process (struct allow *self, int most);
