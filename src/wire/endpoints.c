#include "endpoints.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "socket.h"

int endpoints_read (struct endpoints *self, const char *text, struct reason *reason)
{
    *self = (struct endpoints){.text = strdup (text)};
    if (!self->text) {
        errno = ENOMEM;
        return -1;
    }
    for (char *at = self->text; at;) {
        char *comma = strchr (at, ',');
        if (comma)
            *comma = '\0';
        if (self->count == ENDPOINTS_MAX)
            reason_set (reason, "want at most %d endpoints", ENDPOINTS_MAX);
        if (self->count == ENDPOINTS_MAX || endpoint_check (at, reason)) {
            endpoints_clear (self);
            errno = EINVAL;
            return -1;
        }
        self->rows[self->count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return 0;
}

void endpoints_clear (struct endpoints *self)
{
    free (self->text);
    *self = (struct endpoints){0};
}

// Whether the host is a numeric address other than a wildcard. In a bound endpoint a name is an
// interface.
static bool is_specific_address (const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    struct in_addr v4;
    size_t size = strlen (host);
    if (inet_pton (AF_INET, host, &v4) == 1)
        return v4.s_addr != INADDR_ANY;
    if (size < 3 || size - 2 >= sizeof text || host[0] != '[')
        return false;
    memcpy (text, host + 1, size - 2);
    text[size - 2] = '\0';
    return inet_pton (AF_INET6, text, &v6) == 1 && !IN6_IS_ADDR_UNSPECIFIED (&v6);
}

bool endpoint_reach (struct span name, struct span bound, const char *own_host,
                     char out[ENDPOINT_SIZE])
{
    char text[ENDPOINT_SIZE / 2], host[ENDPOINT_SIZE / 4];
    const char *end = name.size ? memrchr (name.data, ':', name.size) : NULL;
    struct reason reason;
    if (!end || bound.size >= sizeof text)
        return false;
    snprintf (text, sizeof text, "%.*s", (int)bound.size, (const char *)bound.data);
    snprintf (host, sizeof host, "%.*s", (int)(end - (const char *)name.data),
              (const char *)name.data);
    bool here = strcmp (host, own_host) == 0;
    if (endpoint_check (text, &reason) || (!here && endpoint_is_local (text)))
        return false;
    snprintf (out, ENDPOINT_SIZE, "%s", text);
    if (strncmp (text, "tcp://", 6) != 0 || endpoint_is_local (text))
        return true;
    char *port = strrchr (text, ':');
    *port++ = '\0';
    if (!is_specific_address (text + 6))
        snprintf (out, ENDPOINT_SIZE, "tcp://%s:%s", here ? "127.0.0.1" : host, port);
    return true;
}

bool server_keys_valid (const char *text, size_t count)
{
    size_t size = text ? strlen (text) : 0, keys = (size + 1) / CURVE_KEY_SIZE;
    if ((size + 1) % CURVE_KEY_SIZE || keys < 1 || keys > ENDPOINTS_MAX ||
        (count && keys != 1 && keys != count))
        return false;
    for (size_t i = 0; i < keys; i++) {
        char key[CURVE_KEY_SIZE];
        server_key_of (text, i, key);
        if (!curve_key_valid (key) || (i && text[i * CURVE_KEY_SIZE - 1] != ','))
            return false;
    }
    return true;
}

void server_key_of (const char *text, size_t index, char out[CURVE_KEY_SIZE])
{
    bool single = strlen (text) < CURVE_KEY_SIZE;
    memcpy (out, text + (single ? 0 : index * CURVE_KEY_SIZE), CURVE_KEY_SIZE - 1);
    out[CURVE_KEY_SIZE - 1] = '\0';
}
