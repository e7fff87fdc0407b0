// How late a run reaches its target. Mode none: plans that run at once, sent evenly spaced; late is
// what passes from the moment of sending. Mode due: plans that wait in Redis, whose scores are then
// moved to evenly spaced instants, as an operator may do; late is what passes from the score. So
// the whole seconds of the protocol do not make a thousand runs due at one instant.
#include "load.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "ident.h"
#include "memory.h"
#include "producers.h"
#include "target.h"

enum {
    FAR_S = 86400,
    AHEAD_US = 12000000, // a station has read the next 10 seconds of the queue
    MOVED_AT_ONCE = 256,
    KEY_SIZE = 128
};

struct late {
    const struct options *options;
    struct producers producers;
    struct target target;
    struct book book;
    struct samples lateness;
    uint64_t *ids; // of accepted plans, in their order; mode due
    int64_t total, id_count;
    int timer_fd; // readable when a plan is to be sent; mode none
    int64_t start_us, sent;
};

static void note_id (void *owner, struct span id)
{
    struct late *self = owner;
    if (self->id_count == self->total || !ident_parse (id, &self->ids[self->id_count++]))
        fail ("an acknowledgement without an id");
}

// Plans are sent from now on; the target is known to be connected.
static void timer_open (struct late *self)
{
    long long ns = 1000000000LL / self->options->rate;
    struct itimerspec every = {{ns / 1000000000, (long)(ns % 1000000000)},
                               {ns / 1000000000, (long)(ns % 1000000000)}};
    self->timer_fd = timerfd_create (CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (self->timer_fd < 0 || timerfd_settime (self->timer_fd, 0, &every, NULL))
        fail ("no timer: %s", strerror (errno));
    self->start_us = clock_mono_us ();
}

static bool take_runs (struct late *self)
{
    enum { READ_AT_ONCE = 64 };
    struct run run;
    int taken = 0;
    for (; taken < READ_AT_ONCE && target_take (&self->target, &run); taken++) {
        uint64_t mark;
        int64_t late_us = 0;
        if (run.entry->meant_wall_us)
            late_us = clock_wall_us () - run.entry->meant_wall_us;
        else if (argument_mark (run.argument, &mark) && mark)
            late_us = run.at_us - (int64_t)mark;
        else if (self->sent < self->total && self->timer_fd < 0)
            timer_open (self); // the first plan of mode none, which is not counted
        if (late_us && run.entry->runs == 1)
            samples_add (&self->lateness, late_us);
        if (self->options->mark && self->target.runs == self->options->mark)
            fputs ("mark\n", stderr);
        target_answer (&self->target);
    }
    return taken == READ_AT_ONCE;
}

// -- mode none

// As many as should have been sent by now: what was too late for its own tick is made up for.
static void send_due (struct late *self)
{
    uint64_t ticks;
    if (read (self->timer_fd, &ticks, sizeof ticks) < 0)
        return;
    int64_t passed_us = clock_mono_us () - self->start_us;
    int64_t wanted = passed_us * self->options->rate / 1000000;
    if (wanted > self->total)
        wanted = self->total;
    for (; self->sent < wanted; self->sent++)
        producers_send_marked (&self->producers, (uint64_t)clock_mono_us ());
    if (self->sent == self->total) {
        close (self->timer_fd);
        self->timer_fd = -1;
    }
}

// -- mode due

static redisContext *redis_open (const char *address)
{
    static const char unix_prefix[] = "unix:";
    size_t size = sizeof unix_prefix - 1;
    if (strncmp (address, unix_prefix, size) != 0)
        fail ("--redis: want unix:PATH");
    redisContext *redis = redisConnectUnix (address + size);
    if (!redis || redis->err)
        fail ("cannot connect to Redis at '%s'", address);
    return redis;
}

static void move_some (struct late *self, redisContext *redis, int64_t from, int64_t to)
{
    static char keys[MOVED_AT_ONCE][KEY_SIZE], scores[MOVED_AT_ONCE][32];
    const char *argv[4 + 2 * MOVED_AT_ONCE] = {"ZADD", "plan:time:set", "XX", "CH"};
    int argc = 4;
    for (int64_t i = from; i < to; i++) {
        int64_t at_us = self->start_us + i * 1000000 / self->options->rate;
        book_entry (&self->book, self->ids[i])->meant_wall_us = at_us;
        snprintf (scores[i - from], sizeof scores[0], "%" PRId64 ".%06" PRId64, at_us / 1000000,
                  at_us % 1000000);
        snprintf (keys[i - from], sizeof keys[0], "plan:msg:%.64s:%" PRIx64, self->options->station,
                  self->ids[i]);
        argv[argc++] = scores[i - from];
        argv[argc++] = keys[i - from];
    }
    redisReply *reply = redisCommandArgv (redis, argc, argv, NULL);
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer != to - from)
        fail ("not all scores could be moved");
    freeReplyObject (reply);
}

// The plans are accepted: give them their instants.
static void move_all (struct late *self)
{
    redisContext *redis = redis_open (self->options->redis);
    int64_t begin_us = clock_wall_us ();
    self->start_us = begin_us + AHEAD_US + self->total * 20;
    for (int64_t at = 0; at < self->total; at += MOVED_AT_ONCE)
        move_some (self, redis, at,
                   at + MOVED_AT_ONCE < self->total ? at + MOVED_AT_ONCE : self->total);
    redisFree (redis);
    if (clock_wall_us () + 2000000 > self->start_us)
        fail ("moving the scores has taken too long: %" PRId64 " ms",
              (clock_wall_us () - begin_us) / 1000);
}

// -- both

static void open_all (struct late *self)
{
    const struct options *options = self->options;
    bool due = strcmp (options->mode, "due") == 0;
    if (!due && strcmp (options->mode, "none") != 0)
        fail ("--mode: want none or due");
    self->total = options->rate * options->seconds;
    self->timer_fd = -1;
    book_open (&self->book, self->total);
    target_open (&self->target, options->target, &self->book);
    producers_open (&self->producers, options);
    if (!due) {
        producers_plan_none (&self->producers);
        producers_send_marked (&self->producers, 0);
        return;
    }
    self->ids = memory_new ((size_t)self->total * sizeof *self->ids);
    self->producers.accepted = note_id;
    self->producers.owner = self;
    self->sent = self->total;
    producers_plan_time (&self->producers, clock_wall_us () / 1000000 + FAR_S);
    producers_want (&self->producers, self->total);
}

static bool all_done (const struct late *self)
{
    return self->sent == self->total && producers_done (&self->producers) &&
           self->target.plans >= self->producers.accepted_count;
}

static void run_all (struct late *self)
{
    zmq_pollitem_t items[4];
    size_t count = producers_items (&self->producers, items);
    items[count++] = (zmq_pollitem_t){.socket = self->target.socket, .events = ZMQ_POLLIN};
    int64_t last_us = clock_mono_us (), before = 0;
    for (;;) {
        bool more = take_runs (self);
        int64_t again_us = producers_work (&self->producers);
        if (self->ids && !self->start_us && producers_done (&self->producers))
            move_all (self);
        if (self->timer_fd >= 0)
            send_due (self);
        if (all_done (self))
            return;
        int64_t now = clock_mono_us ();
        int64_t after = self->producers.sent + self->producers.answered + self->target.runs;
        if (after != before) {
            before = after;
            last_us = now;
        } else if (now - last_us > self->options->patience_s * 1000000) {
            fprintf (stderr, "zplan-bench: nothing happens any more\n");
            return;
        }
        items[count] = (zmq_pollitem_t){.fd = self->timer_fd, .events = ZMQ_POLLIN};
        int polled = (int)count + (self->timer_fd >= 0);
        zmq_poll (items, polled, more ? 0 : traffic_wait_ms (again_us, now));
    }
}

int load_late (const struct options *options)
{
    static struct late late;
    late.options = options;
    open_all (&late);
    double cpu = cpu_seconds ();
    run_all (&late);
    bool done = all_done (&late);
    result_begin ("late");
    producers_result (&late.producers);
    target_result (&late.target);
    result_samples ("late_ms", &late.lateness);
    result_real ("own_cpu_s", cpu_seconds () - cpu);
    result_end ();
    producers_close (&late.producers);
    target_close (&late.target);
    samples_free (&late.lateness);
    book_close (&late.book);
    free (late.ids);
    return done ? 0 : 1;
}
