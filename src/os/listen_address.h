// The address at which a zplan program serves HTTP: a numeric ADDRESS:PORT.
#pragma once

#include <netdb.h>

// Parse an address such as 127.0.0.1:9924 or [::1]:0. NULL: invalid, or the port is not 0..65535.
// Free the result with freeaddrinfo.
struct addrinfo *listen_address_find (const char *text);
