#include "address.h"

#include <stdio.h>
#include <sys/un.h>

#include "settings.h"

static int parse_unix (const char *path, struct address *ret, struct reason *reason)
{
    size_t size = strlen (path);
    if (size == 0 || size >= sizeof ((struct sockaddr_un *)0)->sun_path)
        return reason_set (reason, "redis_addr: the path of a Unix socket has 1..%zu bytes",
                           sizeof ((struct sockaddr_un *)0)->sun_path - 1);
    ret->kind = ADDRESS_UNIX;
    memcpy (ret->host, path, size + 1);
    return 0;
}

// Parse HOST:PORT of `size` bytes.
static int parse_endpoint (const char *text, size_t size, char host[256], int *ret_port,
                           struct reason *reason)
{
    const char *colon = memchr (text, ':', size);
    size_t host_size = colon ? (size_t)(colon - text) : 0;
    size_t digits = colon ? size - host_size - 1 : 0;
    char port[8] = "";
    int64_t number;
    if (host_size == 0 || host_size >= sizeof ((struct endpoint *)0)->host || digits == 0 ||
        digits >= sizeof port)
        return reason_set (reason, "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                                   "sentinel:MASTER@HOST:PORT,...");
    memcpy (port, colon + 1, digits);
    if (!number_parse (port, &number) || number < 1 || number > 65535)
        return reason_set (reason, "redis_addr: want a port 1..65535");
    memcpy (host, text, host_size);
    host[host_size] = '\0';
    *ret_port = (int)number;
    return 0;
}

static int parse_tcp (const char *text, struct address *ret, struct reason *reason)
{
    const char *colon = strchr (text, ':');
    const char *password = colon ? strchr (colon + 1, ':') : NULL;
    size_t size = password ? (size_t)(password - text) : strlen (text);
    if (parse_endpoint (text, size, ret->host, &ret->port, reason))
        return -1;
    if (password && strlen (password + 1) >= sizeof ret->password)
        return reason_set (reason, "redis_addr: the password is too long");
    ret->kind = ADDRESS_TCP;
    if (password)
        memcpy (ret->password, password + 1, strlen (password + 1) + 1);
    return 0;
}

static int parse_sentinel (const char *text, struct address *ret, struct reason *reason)
{
    size_t size = strcspn (text, "@");
    if (size == 0 || size >= sizeof ret->host || text[size] != '@' ||
        strcspn (text, " \t\r\n") <= size)
        return reason_set (reason, "redis_addr: want sentinel:MASTER@HOST:PORT,HOST:PORT,...");
    memcpy (ret->host, text, size);
    ret->kind = ADDRESS_SENTINEL;
    for (text += size; *text; text += size) {
        text++; // the separator
        size = strcspn (text, ",");
        if (ret->sentinel_count == SENTINELS_MAX)
            return reason_set (reason, "redis_addr: at most %d sentinels", SENTINELS_MAX);
        struct endpoint *endpoint = &ret->sentinels[ret->sentinel_count++];
        if (parse_endpoint (text, size, endpoint->host, &endpoint->port, reason))
            return -1;
    }
    return 0;
}

int address_parse (const char *text, struct address *ret, struct reason *reason)
{
    *ret = (struct address){.kind = ADDRESS_EMBEDDED};
    if (strcmp (text, "embedded") == 0)
        return 0;
    if (strncmp (text, "unix:", 5) == 0)
        return parse_unix (text + 5, ret, reason);
    if (strncmp (text, "sentinel:", 9) == 0)
        return parse_sentinel (text + 9, ret, reason);
    return parse_tcp (text, ret, reason);
}

const char *address_text (const struct address *self, char out[300])
{
    if (self->kind == ADDRESS_TCP)
        snprintf (out, 300, "%s:%d", self->host, self->port);
    else
        snprintf (out, 300, "%s:%s", self->kind == ADDRESS_SENTINEL ? "sentinel" : "unix",
                  self->host);
    return out;
}
