#include "address.h"

#include <stdio.h>
#include <sys/un.h>

#include "settings.h"

static int want (struct reason *reason)
{
    reason_set (reason, "redis_addr: want embedded, HOST:PORT[:PASSWORD] or unix:PATH");
    return -1;
}

static int parse_unix (const char *path, struct address *ret, struct reason *reason)
{
    size_t size = strlen (path);
    if (size == 0 || size >= sizeof ((struct sockaddr_un *)0)->sun_path) {
        reason_set (reason, "redis_addr: the path of a Unix socket has 1..%zu bytes",
                    sizeof ((struct sockaddr_un *)0)->sun_path - 1);
        return -1;
    }
    ret->kind = ADDRESS_UNIX;
    memcpy (ret->host, path, size + 1);
    return 0;
}

static int parse_tcp (const char *text, struct address *ret, struct reason *reason)
{
    const char *colon = strchr (text, ':');
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof ret->host)
        return want (reason);
    const char *password = strchr (colon + 1, ':');
    char port[8] = "";
    size_t digits = password ? (size_t)(password - colon - 1) : strlen (colon + 1);
    int64_t number;
    if (digits == 0 || digits >= sizeof port)
        return want (reason);
    memcpy (port, colon + 1, digits);
    if (!number_parse (port, &number) || number < 1 || number > 65535) {
        reason_set (reason, "redis_addr: want a port 1..65535");
        return -1;
    }
    if (password && strlen (password + 1) >= sizeof ret->password) {
        reason_set (reason, "redis_addr: the password is too long");
        return -1;
    }
    ret->kind = ADDRESS_TCP;
    memcpy (ret->host, text, (size_t)(colon - text));
    ret->port = (int)number;
    if (password)
        memcpy (ret->password, password + 1, strlen (password + 1) + 1);
    return 0;
}

int address_parse (const char *text, struct address *ret, struct reason *reason)
{
    *ret = (struct address){.kind = ADDRESS_EMBEDDED};
    if (strcmp (text, "embedded") == 0)
        return 0;
    if (strncmp (text, "unix:", 5) == 0)
        return parse_unix (text + 5, ret, reason);
    return parse_tcp (text, ret, reason);
}

const char *address_text (const struct address *self, char out[300])
{
    if (self->kind == ADDRESS_TCP)
        snprintf (out, 300, "%s:%d", self->host, self->port);
    else
        snprintf (out, 300, "unix:%s", self->host);
    return out;
}
