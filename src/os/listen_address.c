#include "listen_address.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "settings.h"

struct addrinfo *listen_address_find (const char *text)
{
    char host[128];
    const char *colon = strrchr (text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    bool bracketed = size > 2 && text[0] == '[' && text[size - 1] == ']';
    struct addrinfo *found = NULL, hints = {.ai_family = AF_UNSPEC,
                                            .ai_socktype = SOCK_STREAM,
                                            .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int64_t port; // getaddrinfo accepts larger numbers, and uses their lower 16 bits
    if (!size || size >= sizeof host || !number_parse (colon + 1, &port) || port < 0 ||
        port > UINT16_MAX)
        return NULL;
    snprintf (host, sizeof host, "%.*s", (int)size - 2 * bracketed, text + bracketed);
    return getaddrinfo (host, colon + 1, &hints, &found) ? NULL : found;
}
