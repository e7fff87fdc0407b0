#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "endpoints.h"
#include "log.h"
#include "notify.h"
#include "process.h"

// -- log and signals

static void on_signal (void *owner, uint32_t events)
{
    struct daemon *self = owner;
    (void)events;
    for (int number; (number = process_next_signal (self->signal_fd));)
        if (number != SIGCHLD && number != SIGHUP) {
            notify_stopping ();
            log_event (LEVEL_INFO, "stopping", "signal=%d", number);
            self->stop (self->owner);
        }
}

bool daemon_start (struct daemon *self, const char *name, const char *log_level,
                   const char *log_format)
{
    *self = (struct daemon){.signal_fd = process_prepare ()};
    log_start (name, log_level, log_format);
    process_confine ();
    notify_start ();
    self->reactor = reactor_new ();
    return self->reactor;
}

void daemon_serve (struct daemon *self, void (*stop) (void *owner), void *owner)
{
    self->stop = stop;
    self->owner = owner;
    self->signals = (struct source){.call = on_signal, .owner = self};
    source_set (&self->signals, self->reactor, self->signal_fd, EPOLLIN);
    notify_ready ();
    reactor_run (self->reactor);
    source_end (&self->signals);
}

void daemon_end (struct daemon *self)
{
    reactor_destroy (&self->reactor);
    close (self->signal_fd);
}

// -- the station

int daemon_curve (const struct daemon_station *station, struct curve_cert *cert,
                  struct zplan_curve *room, const struct zplan_curve **ret, struct reason *reason)
{
    *cert = (struct curve_cert){0};
    *room = (struct zplan_curve){.server_key = station->server_key,
                                 .public_key = cert->keys.public_key,
                                 .secret_key = cert->keys.secret_key};
    *ret = station->key[0] ? room : NULL;
    return *ret ? curve_cert_load (station->key, CURVE_SECRET, cert, reason) : 0;
}

int daemon_check (const struct daemon_station *station, const char *setting, struct reason *reason)
{
    struct endpoints endpoints;
    struct curve_cert cert;
    struct reason why = {"out of memory"};
    if (endpoints_read (&endpoints, station->endpoints, &why))
        return reason_set (reason, "%s: %s", setting, why.text);
    size_t count = endpoints.count;
    endpoints_clear (&endpoints);
    if (!station->key[0])
        return 0;
    if (!server_keys_valid (station->server_key, count))
        return reason_set (reason,
                           "server_key: want a public key of 40 characters of Z85, or one for each "
                           "endpoint of %s",
                           setting);
    int rc = curve_cert_load (station->key, CURVE_SECRET, &cert, &why);
    if (rc)
        reason_set (reason, "key: %s", why.text);
    explicit_bzero (&cert, sizeof cert);
    return rc;
}

struct zplan_client *daemon_connect (const struct daemon_station *station, struct reason *reason)
{
    struct curve_cert cert;
    struct zplan_curve room;
    const struct zplan_curve *curve;
    if (daemon_curve (station, &cert, &room, &curve, reason))
        return NULL;
    struct zplan_client *client = curve ? zplan_client_new_curve (station->endpoints, curve)
                                        : zplan_client_new (station->endpoints);
    if (!client)
        reason_set (reason, "connect: %s: %s", quoted (span_text (station->endpoints)),
                    errno == EINVAL ? "want endpoints as tcp://HOST:7920, and a valid server_key"
                                    : strerror (errno));
    explicit_bzero (&cert, sizeof cert);
    return client;
}
