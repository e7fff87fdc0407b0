#include "keys.h"

#include <errno.h>

int keys_take (struct keys *self, const struct zplan_curve *curve)
{
    if (curve && curve_key_valid (curve->server_key) && curve_key_valid (curve->public_key) &&
        curve_key_valid (curve->secret_key)) {
        memcpy (self->server_key, curve->server_key, CURVE_KEY_SIZE);
        memcpy (self->own.public_key, curve->public_key, CURVE_KEY_SIZE);
        memcpy (self->own.secret_key, curve->secret_key, CURVE_KEY_SIZE);
        self->used = curve_keys_belong (&self->own);
    }
    if (self->used)
        return 0;
    errno = EINVAL;
    return -1;
}

void keys_put (const struct keys *self, void *socket)
{
    if (self->used)
        curve_make_client (socket, &self->own, self->server_key);
}
