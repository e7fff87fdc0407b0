#include "keys.h"

#include <errno.h>

int keys_copy (struct keys *self, const struct zplan_curve *curve)
{
    if (curve && server_keys_valid (curve->server_key, 0) && curve_key_valid (curve->public_key) &&
        curve_key_valid (curve->secret_key)) {
        memcpy (self->server_keys, curve->server_key, strlen (curve->server_key) + 1);
        memcpy (self->own.public_key, curve->public_key, CURVE_KEY_SIZE);
        memcpy (self->own.secret_key, curve->secret_key, CURVE_KEY_SIZE);
        self->used = curve_keys_belong (&self->own);
    }
    if (self->used)
        return 0;
    errno = EINVAL;
    return -1;
}

int keys_read_endpoints (const struct keys *self, const char *text, struct endpoints *ret)
{
    struct reason ignored;
    *ret = (struct endpoints){0};
    if (text && endpoints_read (ret, text, &ignored))
        return -1;
    if (text && (!self->used || server_keys_valid (self->server_keys, ret->count)))
        return 0;
    endpoints_clear (ret);
    errno = EINVAL;
    return -1;
}

void keys_set_socket (const struct keys *self, void *socket, size_t index)
{
    char server_key[CURVE_KEY_SIZE];
    if (!self->used)
        return;
    server_key_of (self->server_keys, index, server_key);
    curve_make_client (socket, &self->own, server_key);
}
