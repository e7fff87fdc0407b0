// The certificate and the key of HTTPS. GnuTLS requests them at each handshake, so new files are
// used for new connections.
#pragma once

#include "reactor.h"
#include "reason.h"

struct tls;

// Value of MHD_OPTION_HTTPS_PRIORITIES: TLS 1.2 and later.
extern const char tls_priorities[];

// Read both files, and check them for changes each second. Only one struct tls may exist in a
// process, as the callback has no owner. The paths are borrowed. NULL with a reason, which quotes
// nothing from the key.
struct tls *tls_new (struct reactor *reactor, const char *cert, const char *key,
                     struct reason *reason);

// Destroy it after the HTTP server, which calls tls_callback.
void tls_destroy (struct tls **self);

// Value of MHD_OPTION_HTTPS_CERT_CALLBACK: the function that returns certificate and key to a
// handshake.
void *tls_callback (void);
