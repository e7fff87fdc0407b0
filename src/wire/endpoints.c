#include "endpoints.h"

#include <errno.h>
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
    bool one = strlen (text) < CURVE_KEY_SIZE;
    memcpy (out, text + (one ? 0 : index * CURVE_KEY_SIZE), CURVE_KEY_SIZE - 1);
    out[CURVE_KEY_SIZE - 1] = '\0';
}
