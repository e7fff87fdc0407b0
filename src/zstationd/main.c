// zstationd: the reference target station. Start, the event loop, stop.
#include <czmq.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

// czmq brings in syslog, whose names collide with those of our log.
#undef LEVEL_INFO
#undef LEVEL_DEBUG

#include "context.h"
#include "frontend.h"
#include "notify.h"
#include "backend.h"
#include "process.h"
#include "subscribers.h"

enum { EXIT_STOPPED = 0, EXIT_NOT_STARTED = 1, EXIT_USAGE = 2 };

enum {
    MESSAGES_A_WAKE = 64, // then the other sockets have their turn
    TICK_MIN_MS = 10,
    TICK_MAX_MS = 1000
};

static const struct station_kind *const kinds[] = {
    [STATION_API] = &api_station, [STATION_PUB] = &pub_station, [STATION_VOTE] = &vote_station};

// The return value of a zloop handler that may have sent the last answer: -1 ends the loop when the
// station is stopping and not busy; else 0.
static int zloop_result (const struct target_server *station)
{
    bool (*busy) (const struct target_server *) = station->kind->busy;
    return station->stopping && !(busy && busy (station)) ? -1 : 0;
}

static int on_socket (zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct target_server *station = arg;
    (void)loop;
    if (item->socket == station->request) {
        for (int i = 0; i < MESSAGES_A_WAKE && frontend_recv (station); i++) {
        }
    } else if (item->socket == station->backend) {
        for (int i = 0; i < MESSAGES_A_WAKE && backend_recv (station); i++) {
        }
        return zloop_result (station);
    } else if (item->socket == station->publish) {
        subscribers_read (station->subscribers, item->socket);
    } else if (station->allow && item->socket == allow_socket (station->allow)) {
        station->counts[COUNT_REFUSED_KEYS] += allow_process (station->allow, MESSAGES_A_WAKE);
    } else {
        station->counts[COUNT_STATUS_DROPPED] += plan_link_process (&station->plan);
    }
    return 0;
}

static int on_tick (zloop_t *loop, int timer_id, void *arg)
{
    (void)loop;
    (void)timer_id;
    struct target_server *station = arg;
    station->kind->tick (station);
    return zloop_result (station);
}

static int on_grace_over (zloop_t *loop, int timer_id, void *arg)
{
    (void)loop;
    (void)timer_id;
    (void)arg;
    return -1;
}

static void begin_stop (zloop_t *loop, struct target_server *station)
{
    int64_t grace_ms = station->options.grace * 1000;
    notify_stopping ();
    log_event (LEVEL_INFO, "stopping", "grace_ms=%" PRId64, grace_ms);
    station->stopping = true;
    if (station->kind->drain)
        station->kind->drain (station);
    zloop_timer (loop, (size_t)grace_ms, 1, on_grace_over, NULL);
}

// The first signal begins the stop; a second one ends the loop at once.
static int on_signal (zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct target_server *station = arg;
    for (int number; (number = process_next_signal (item->fd));) {
        if (number == SIGCHLD)
            continue;
        if (station->stopping)
            return -1;
        begin_stop (loop, station);
    }
    return zloop_result (station);
}

static void watch_socket (zloop_t *loop, struct target_server *station, void *socket)
{
    zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
    if (socket)
        zloop_poller (loop, &item, on_socket, station);
}

// The interval of ticks in milliseconds: a tenth of the shorter timeout, within bounds.
static size_t tick_interval_ms (const struct options *options)
{
    int64_t ms = options->worker_timeout;
    if (options->voter_timeout < ms)
        ms = options->voter_timeout;
    ms /= 10;
    ms = ms < TICK_MIN_MS ? TICK_MIN_MS : ms;
    return (size_t)(ms > TICK_MAX_MS ? TICK_MAX_MS : ms);
}

static void serve_requests (struct target_server *station, int signal_fd)
{
    zloop_t *loop = zloop_new ();
    zloop_set_nonstop (loop, true); // signals are read from their descriptor
    zmq_pollitem_t signals = {NULL, signal_fd, ZMQ_POLLIN, 0};
    zloop_poller (loop, &signals, on_signal, station);
    watch_socket (loop, station, station->allow ? allow_socket (station->allow) : NULL);
    watch_socket (loop, station, station->request);
    watch_socket (loop, station, station->backend);
    for (size_t i = 0; i < station->plan.endpoints.count; i++) {
        watch_socket (loop, station, station->plan.dealers.rows[i].socket);
        watch_socket (loop, station, station->plan.dealers.rows[i].monitor);
    }
    watch_socket (loop, station, station->publish);
    if (station->kind->tick)
        zloop_timer (loop, tick_interval_ms (&station->options), 0, on_tick, station);
    puts ("ready");
    fflush (stdout);
    notify_ready ();
    log_event (LEVEL_INFO, "serving", "station=%s type=%s request=%s", station->options.name,
               station->options.type_name, station->options.request);
    zloop_start (loop);
    zloop_destroy (&loop);
}

static int run_zstationd (struct target_server *station)
{
    struct reason reason;
    int signal_fd = process_prepare ();
    log_start ("zstationd", station->options.log_level, station->options.log_format);
    process_confine ();
    notify_start ();
    station->kind = kinds[station->options.type];
    int code = station_open_curve (station, &reason) ? EXIT_USAGE
               : station_open (station, &reason)     ? EXIT_NOT_STARTED
                                                     : EXIT_STOPPED;
    if (code) {
        fprintf (stderr, "zstationd: could not start: %s\n", reason.text);
    } else {
        serve_requests (station, signal_fd);
        if (station->kind->stop)
            station->kind->stop (station);
        station_log_counts (station);
    }
    station_close (station);
    wire_context_end ();
    return code;
}

int main (int argc, char **argv)
{
    struct target_server station = {0};
    struct reason reason;
    process_begin (HANGUP_KEPT);
    switch (options_read (argc, argv, &station.options, &reason)) {
    case OPTIONS_READ:
        return run_zstationd (&station);
    case OPTIONS_DONE:
        return EXIT_STOPPED;
    case OPTIONS_WRONG:
        break;
    }
    fprintf (stderr, "zstationd: %s (see zstationd --help)\n", reason.text);
    return EXIT_USAGE;
}
