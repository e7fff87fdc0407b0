#include "caller.h"

#include <czmq.h>

static bool is_automatic (struct span identity)
{
    return identity.size == CALLER_MASKED_SIZE && identity.data[0] == 0;
}

struct span caller_of (struct station *self, const struct request *request,
                       uint8_t mask[CALLER_MASKED_SIZE])
{
    struct span identity = request->peer.identity;
    if (request->message.envelope == ENVELOPE_CALLER)
        return request->message.sender;
    if (!is_automatic (identity))
        return identity;
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, self->caller_secret, sizeof self->caller_secret);
    zdigest_update (digest, identity.data, identity.size);
    mask[0] = 0;
    memcpy (mask + 1, zdigest_data (digest), CALLER_MASKED_SIZE - 1);
    zdigest_destroy (&digest);
    return span_of (mask, CALLER_MASKED_SIZE);
}
