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
    struct masked *known =
        &self->masked[identity.data[4] % (sizeof self->masked / sizeof *self->masked)];
    if (known->mask[1] && memcmp (known->identity, identity.data, sizeof known->identity) == 0) {
        memcpy (mask, known->mask, CALLER_MASKED_SIZE);
        return span_of (mask, CALLER_MASKED_SIZE);
    }
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, self->caller_secret, sizeof self->caller_secret);
    zdigest_update (digest, identity.data, identity.size);
    mask[0] = 0;
    memcpy (mask + 1, zdigest_data (digest), CALLER_MASKED_SIZE - 1);
    zdigest_destroy (&digest);
    memcpy (known->identity, identity.data, sizeof known->identity);
    memcpy (known->mask, mask, CALLER_MASKED_SIZE);
    return span_of (mask, CALLER_MASKED_SIZE);
}
