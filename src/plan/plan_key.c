#include "plan_key.h"

#include "sha1.h"

// The id is 63 bits of the digest of scope, NUL and key, or of the key alone if the scope is empty;
// no key contains a NUL. So no two plans with the same key and scope can be stored.
uint64_t plan_key_id (struct span scope, struct span key)
{
    uint8_t sum[SHA1_SIZE];
    const struct span parts[] = {scope, span_of ("", scope.size ? 1 : 0), key};
    sha1_sum (parts, sizeof parts / sizeof *parts, sum);
    uint64_t id = 0;
    for (size_t i = 0; i < sizeof id; i++)
        id |= (uint64_t)sum[i] << 8 * i;
    id &= INT64_MAX;
    return id ? id : 1;
}
