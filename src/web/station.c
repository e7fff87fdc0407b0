#include "station.h"

#include <errno.h>

#include "curve.h"

struct zplan_client *station_open (const struct web_settings *settings, const char *key,
                                   struct reason *reason)
{
    struct curve_cert cert = {0};
    const struct zplan_curve curve = {.server_key = settings->server_key,
                                      .public_key = cert.keys.public_key,
                                      .secret_key = cert.keys.secret_key};
    if (key && curve_cert_load (key, CURVE_SECRET, &cert, reason))
        return NULL;
    struct zplan_client *client = key ? zplan_client_new_curve (settings->connect, &curve)
                                      : zplan_client_new (settings->connect);
    if (!client)
        reason_set (reason, "connect: %s: %s", quoted (span_text (settings->connect)),
                    errno == EINVAL ? "want endpoints as tcp://HOST:7920, and a valid server_key"
                                    : strerror (errno));
    explicit_bzero (&cert, sizeof cert);
    return client;
}
