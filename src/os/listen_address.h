// Where a program of ours serves HTTP: a numeric ADDRESS:PORT.
#pragma once

#include <netdb.h>

// 127.0.0.1:9924, [::1]:0. NULL: invalid, or the port is not 0..65535. Give it to freeaddrinfo.
struct addrinfo *listen_address_find (const char *text);
