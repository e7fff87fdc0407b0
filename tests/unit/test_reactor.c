// The reactor, and ZeroMQ sockets in it: which callbacks are called, in which turn, and which are
// not. A guard fails rows that wait too long.
#include "rows.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "socket.h"
#include "watch.h"

enum { GUARD_MS = 20000, CALLS_MAX = 256 };

static struct reactor *reactor;
static struct timer guard;
static char calls[CALLS_MAX]; // a letter for each call of the test, in their order
static size_t call_count;

static void note (char letter)
{
    assert_true (call_count < CALLS_MAX - 1);
    calls[call_count++] = letter;
}

static void on_guard (void *owner)
{
    (void)owner;
    fail_msg ("nothing more came in %d ms; calls until then: \"%s\"", GUARD_MS, calls);
}

static int set_up (void **state)
{
    (void)state;
    memset (calls, 0, sizeof calls);
    call_count = 0;
    reactor = reactor_new ();
    guard = (struct timer){.call = on_guard};
    if (reactor)
        timer_set (&guard, reactor, GUARD_MS);
    return reactor ? 0 : -1;
}

static int tear_down (void **state)
{
    (void)state;
    timer_end (&guard);
    reactor_destroy (&reactor);
    return reactor ? -1 : 0;
}

// -- turns that do not wait, so that what is not called can be told from what is not called yet

struct turns {
    struct task task;
    int left;
};

static void on_turn (void *owner)
{
    struct turns *self = owner;
    if (self->left-- == 0)
        reactor_stop (reactor);
    else
        task_set (&self->task, reactor);
}

// Run the reactor for `count` turns, and stop.
static void pass_turns (int count)
{
    struct turns turns = {.task = {.call = on_turn, .owner = &turns}, .left = count};
    task_set (&turns.task, reactor);
    reactor_run (reactor);
}

static void stop (void *owner)
{
    (void)owner;
    reactor_stop (reactor);
}

static void run_for (int64_t ms)
{
    struct timer timer = {.call = stop};
    timer_set (&timer, reactor, ms);
    reactor_run (reactor);
}

// -- descriptors

// A pipe with a byte in it, whose read end is watched.
struct full_pipe {
    struct source source, *other; // other: ended or changed in the call, NULL: none
    int fds[2];
    int count;
    uint32_t events; // of the last call
    char letter;
};

static void on_pipe (void *owner, uint32_t events)
{
    struct full_pipe *self = owner;
    self->count++;
    self->events = events;
    if (self->letter)
        note (self->letter);
}

static void pipe_open (struct full_pipe *self, source_fn *call)
{
    *self = (struct full_pipe){.source = {.call = call, .owner = self}};
    assert_int_equal (pipe2 (self->fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal (write (self->fds[1], "x", 1), 1);
    source_set (&self->source, reactor, self->fds[0], EPOLLIN);
}

static void pipe_empty (struct full_pipe *self)
{
    char byte;
    assert_int_equal (read (self->fds[0], &byte, 1), 1);
}

static void pipe_close (struct full_pipe *self)
{
    source_end (&self->source);
    close (self->fds[0]);
    close (self->fds[1]);
}

static void a_descriptor_is_called_in_each_turn_while_it_is_ready (void **state)
{
    (void)state;
    struct full_pipe pipe;
    pipe_open (&pipe, on_pipe);
    pass_turns (3);
    assert_int_equal (pipe.count, 3);
    pipe_empty (&pipe);
    pass_turns (3);
    assert_int_equal (pipe.count, 3);
    assert_int_equal (write (pipe.fds[1], "x", 1), 1);
    pass_turns (1);
    assert_int_equal (pipe.count, 4);
    pipe_close (&pipe);
}

static void stop_on_pipe (void *owner, uint32_t events)
{
    on_pipe (owner, events);
    reactor_stop (reactor);
}

static void write_byte (void *owner)
{
    struct full_pipe *self = owner;
    assert_int_equal (write (self->fds[1], "x", 1), 1);
}

static void a_descriptor_ends_the_wait (void **state)
{
    (void)state;
    struct full_pipe pipe;
    pipe_open (&pipe, stop_on_pipe);
    pipe_empty (&pipe);
    struct timer timer = {.call = write_byte, .owner = &pipe};
    timer_set (&timer, reactor, 5);
    reactor_run (reactor);
    assert_int_equal (pipe.count, 1);
    pipe_close (&pipe);
}

// Events of a socket that has a byte to read and room to write.
static const struct event_row {
    const char *name;
    uint32_t asked, given;
} event_rows[] = {
    {"to read", EPOLLIN, EPOLLIN},
    {"to write", EPOLLOUT, EPOLLOUT},
    {"both", EPOLLIN | EPOLLOUT, EPOLLIN | EPOLLOUT},
    {"to read again", EPOLLIN, EPOLLIN},
};

static void the_events_are_those_that_are_asked_for_last (void **state)
{
    (void)state;
    struct full_pipe pair = {.source = {.call = on_pipe, .owner = &pair}};
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.fds), 0);
    assert_int_equal (write (pair.fds[1], "x", 1), 1);
    for (size_t i = 0; i < ROWS (event_rows); i++) {
        const struct event_row *row = &event_rows[i];
        pair.count = 0;
        source_set (&pair.source, reactor, pair.fds[0], row->asked);
        pass_turns (1);
        CHECK_INT (row->name, pair.count, 1);
        CHECK_INT (row->name, pair.events, row->given);
    }
    pipe_empty (&pair);
    pass_turns (1);
    assert_int_equal (pair.count, 1); // only EPOLLOUT is left, and it is not asked for any more
    pipe_close (&pair);
}

static void the_end_of_a_peer_is_told_unasked (void **state)
{
    (void)state;
    struct full_pipe pipe;
    pipe_open (&pipe, on_pipe);
    pipe_empty (&pipe);
    close (pipe.fds[1]);
    pass_turns (1);
    assert_int_equal (pipe.count, 1);
    assert_int_equal (pipe.events, EPOLLHUP);
    source_end (&pipe.source);
    close (pipe.fds[0]);
}

static void an_ended_descriptor_is_not_called (void **state)
{
    (void)state;
    struct full_pipe pipe;
    struct source never = {0};
    pipe_open (&pipe, on_pipe);
    source_end (&pipe.source);
    source_end (&pipe.source);
    source_end (&never);
    pass_turns (2);
    assert_int_equal (pipe.count, 0);
    source_set (&pipe.source, reactor, pipe.fds[0], EPOLLIN);
    pass_turns (1);
    assert_int_equal (pipe.count, 1);
    pipe_close (&pipe);
}

static void end_the_other (void *owner, uint32_t events)
{
    struct full_pipe *self = owner;
    on_pipe (self, events);
    source_end (self->other);
}

static void a_descriptor_that_another_ends_is_not_called_in_the_same_turn (void **state)
{
    (void)state;
    struct full_pipe pipes[2];
    for (size_t i = 0; i < 2; i++)
        pipe_open (&pipes[i], end_the_other);
    for (size_t i = 0; i < 2; i++)
        pipes[i].other = &pipes[1 - i].source;
    pass_turns (3);
    assert_int_equal (pipes[0].count + pipes[1].count, 3);
    assert_true (pipes[0].count == 0 || pipes[1].count == 0);
    for (size_t i = 0; i < 2; i++)
        pipe_close (&pipes[i]);
}

static void set_the_other_again (void *owner, uint32_t events)
{
    struct full_pipe *self = owner;
    on_pipe (self, events);
    if (!self->other)
        return;
    struct full_pipe *other = self->other->owner;
    source_end (self->other);
    pipe_empty (other);
    source_set (self->other, reactor, other->fds[0], EPOLLIN);
}

static void a_descriptor_that_is_ended_and_set_is_called_for_what_comes_then (void **state)
{
    (void)state;
    struct full_pipe pipes[2];
    for (size_t i = 0; i < 2; i++)
        pipe_open (&pipes[i], set_the_other_again);
    for (size_t i = 0; i < 2; i++)
        pipes[i].other = &pipes[1 - i].source;
    pass_turns (1);
    assert_int_equal (pipes[0].count + pipes[1].count, 1);
    struct full_pipe *emptied = pipes[0].count ? &pipes[1] : &pipes[0];
    emptied->other = NULL; // it is its turn now, and the other one is to stay
    source_end (emptied == &pipes[0] ? &pipes[1].source : &pipes[0].source);
    pass_turns (1);
    assert_int_equal (emptied->count, 0);
    assert_int_equal (write (emptied->fds[1], "x", 1), 1);
    pass_turns (1);
    assert_int_equal (emptied->count, 1);
    for (size_t i = 0; i < 2; i++)
        pipe_close (&pipes[i]);
}

static struct full_pipe *owned[2];

static void free_both (void *owner, uint32_t events)
{
    on_pipe (owner, events);
    note ('d');
    for (size_t i = 0; i < 2; i++) {
        pipe_close (owned[i]);
        free (owned[i]);
    }
}

static void who_owns_a_descriptor_may_free_it_and_others_in_its_call (void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        owned[i] = malloc (sizeof *owned[i]);
        pipe_open (owned[i], free_both);
    }
    pass_turns (3);
    assert_string_equal (calls, "d");
}

enum { MANY = 150 }; // more than are asked for at once

static void of_many_descriptors_none_is_forgotten (void **state)
{
    (void)state;
    static struct full_pipe pipes[MANY];
    int count = 0;
    for (size_t i = 0; i < MANY; i++)
        pipe_open (&pipes[i], on_pipe);
    pass_turns (MANY);
    for (size_t i = 0; i < MANY; i++) {
        count += pipes[i].count ? 1 : 0;
        pipe_close (&pipes[i]);
    }
    assert_int_equal (count, MANY);
}

static void what_is_ready_when_it_is_stopped_is_called_in_the_next_run (void **state)
{
    (void)state;
    struct full_pipe pipes[2];
    for (size_t i = 0; i < 2; i++)
        pipe_open (&pipes[i], stop_on_pipe);
    reactor_run (reactor);
    assert_int_equal (pipes[0].count + pipes[1].count, 1);
    pipe_close (pipes[0].count ? &pipes[0] : &pipes[1]);
    reactor_run (reactor);
    assert_int_equal (pipes[0].count, 1);
    assert_int_equal (pipes[1].count, 1);
    pipe_close (&pipes[0]);
    pipe_close (&pipes[1]);
}

// -- times

struct clocked {
    struct timer timer, *other; // other: ended in the call, NULL: none
    int64_t at_us;              // not before this
    int again;
    char letter;
};

static void clocked_set (struct clocked *self, int64_t ms)
{
    self->at_us = clock_mono_us () + ms * 1000;
    timer_set (&self->timer, reactor, ms);
    assert_true (timer_is_set (&self->timer));
}

static void on_clocked (void *owner)
{
    struct clocked *self = owner;
    assert_true (clock_mono_us () >= self->at_us);
    assert_false (timer_is_set (&self->timer));
    note (self->letter);
    if (self->other)
        timer_end (self->other);
    if (self->again > 0) {
        self->again--;
        clocked_set (self, 2);
    }
}

static struct clocked clocked_of (char letter)
{
    return (struct clocked){.timer = {.call = on_clocked}, .letter = letter};
}

static void timers_are_called_once_in_their_order_and_not_before (void **state)
{
    (void)state;
    static const int64_t ms[] = {120, 40, 0, 80, 41};
    struct clocked timers[ROWS (ms)];
    for (size_t i = 0; i < ROWS (ms); i++) {
        timers[i] = clocked_of ((char)('a' + i));
        timers[i].timer.owner = &timers[i];
        assert_false (timer_is_set (&timers[i].timer));
        clocked_set (&timers[i], ms[i]);
    }
    run_for (121);
    assert_string_equal (calls, "cbeda");
}

static void a_timer_that_is_set_again_has_only_the_new_time (void **state)
{
    (void)state;
    struct clocked later = clocked_of ('l'), sooner = clocked_of ('s'), fixed = clocked_of ('f');
    later.timer.owner = &later;
    sooner.timer.owner = &sooner;
    fixed.timer.owner = &fixed;
    clocked_set (&later, 1);
    clocked_set (&sooner, GUARD_MS * 2);
    clocked_set (&fixed, 80);
    clocked_set (&later, 120);
    clocked_set (&sooner, 20);
    run_for (121);
    assert_string_equal (calls, "sfl");
}

static void an_ended_timer_is_not_called (void **state)
{
    (void)state;
    struct clocked timer = clocked_of ('x'), never = clocked_of ('n');
    timer.timer.owner = &timer;
    clocked_set (&timer, 5);
    timer_end (&timer.timer);
    assert_false (timer_is_set (&timer.timer));
    timer_end (&timer.timer);
    timer_end (&never.timer);
    run_for (20);
    assert_string_equal (calls, "");
}

static void a_timer_that_another_ends_is_not_called_though_it_is_due (void **state)
{
    (void)state;
    struct clocked timers[] = {clocked_of ('x'), clocked_of ('x')};
    for (size_t i = 0; i < 2; i++) {
        timers[i].timer.owner = &timers[i];
        timers[i].other = &timers[1 - i].timer;
        clocked_set (&timers[i], 0);
    }
    run_for (1); // three turns may take less than the microsecond that a timer of 0 waits
    assert_string_equal (calls, "x");
}

static void a_timer_may_set_itself_again (void **state)
{
    (void)state;
    struct clocked timer = clocked_of ('t');
    timer.timer.owner = &timer;
    timer.again = 4;
    clocked_set (&timer, 2);
    while (timer_is_set (&timer.timer))
        run_for (2);
    run_for (5);
    assert_string_equal (calls, "ttttt");
}

static void free_timer (void *owner)
{
    note ('t');
    free (owner);
}

static void who_owns_a_timer_may_free_it_in_its_call (void **state)
{
    (void)state;
    struct timer *timer = malloc (sizeof *timer);
    *timer = (struct timer){.call = free_timer, .owner = timer};
    timer_set (timer, reactor, 0);
    run_for (1); // three turns may take less than the microsecond that a timer of 0 waits
    assert_string_equal (calls, "t");
}

static void note_and_stop (void *owner)
{
    note (*(const char *)owner);
    reactor_stop (reactor);
}

static void the_timer_that_stops_is_the_last_and_the_rest_is_called_in_the_next_run (void **state)
{
    (void)state;
    struct timer first = {.call = note_and_stop, .owner = "1"};
    struct timer second = {.call = note_and_stop, .owner = "2"};
    struct task task = {.call = note_and_stop, .owner = "t"};
    timer_set (&first, reactor, 0);
    timer_set (&second, reactor, 1);
    task_set (&task, reactor);
    // Wait until both are due.
    while (clock_mono_us () < second.node.at) {
    }
    reactor_run (reactor);
    assert_string_equal (calls, "1");
    reactor_run (reactor);
    assert_string_equal (calls, "12");
    reactor_run (reactor);
    assert_string_equal (calls, "12t");
}

// -- tasks

struct noted {
    struct task task, *ends, *sets; // NULL: none
    int again;
    char letter;
};

static void on_noted (void *owner)
{
    struct noted *self = owner;
    note (self->letter);
    if (self->again > 0) {
        self->again--;
        task_set (&self->task, reactor);
    }
    if (self->ends)
        task_end (self->ends);
    if (self->sets)
        task_set (self->sets, reactor);
}

static void noted_set (struct noted *self, char letter)
{
    *self = (struct noted){.task = {.call = on_noted, .owner = self}, .letter = letter};
    task_set (&self->task, reactor);
}

static void a_task_that_is_set_twice_is_called_once (void **state)
{
    (void)state;
    struct noted task;
    noted_set (&task, 't');
    task_set (&task.task, reactor);
    pass_turns (3);
    assert_string_equal (calls, "t");
    task_set (&task.task, reactor);
    pass_turns (3);
    assert_string_equal (calls, "tt");
}

static void tasks_are_called_in_the_order_of_setting (void **state)
{
    (void)state;
    struct noted a, b, c;
    noted_set (&c, 'c');
    noted_set (&a, 'a');
    noted_set (&b, 'b');
    task_set (&c.task, reactor); // keeps its place
    pass_turns (1);
    assert_string_equal (calls, "cab");
    task_set (&a.task, reactor);
    task_set (&b.task, reactor);
    task_end (&a.task);
    task_set (&a.task, reactor); // it is last in the list now
    pass_turns (1);
    assert_string_equal (calls, "cabba");
}

static void a_task_that_sets_itself_lets_the_descriptors_have_their_turn (void **state)
{
    (void)state;
    struct full_pipe pipe;
    struct noted task;
    pipe_open (&pipe, on_pipe);
    pipe.letter = 'd';
    noted_set (&task, 't');
    task.again = 3;
    pass_turns (4);
    assert_string_equal (calls, "tdtdtdtd");
    pipe_close (&pipe);
}

static void a_task_that_a_task_sets_is_called_in_the_next_turn (void **state)
{
    (void)state;
    struct full_pipe pipe;
    struct noted first, second, third;
    pipe_open (&pipe, on_pipe);
    pipe.letter = 'd';
    noted_set (&first, '1');
    noted_set (&second, '2');
    noted_set (&third, '3');
    task_end (&third.task);
    first.sets = &third.task;
    pass_turns (2);
    assert_string_equal (calls, "12d3d");
    pipe_close (&pipe);
}

// The first of three tasks ends one of them, and adds another one: the list must stay intact.
static void a_task_that_another_ends_is_not_called (void **state)
{
    (void)state;
    static const char *const left[] = {"13s", "12s"};
    for (size_t i = 0; i < 2; i++) {
        struct noted first, second, third, set;
        memset (calls, 0, sizeof calls);
        call_count = 0;
        noted_set (&first, '1');
        noted_set (&second, '2');
        noted_set (&third, '3');
        noted_set (&set, 's');
        task_end (&set.task);
        task_end (&set.task);
        first.ends = i ? &third.task : &second.task;
        first.sets = &set.task;
        pass_turns (3);
        assert_string_equal (calls, left[i]);
    }
}

static void free_noted (void *owner)
{
    note ('f');
    free (owner);
}

static void who_owns_a_task_may_free_it_in_its_call (void **state)
{
    (void)state;
    struct noted *freed = malloc (sizeof *freed), behind;
    noted_set (freed, 'f');
    freed->task.call = free_noted;
    noted_set (&behind, 'b');
    pass_turns (2);
    assert_string_equal (calls, "fb");
}

static struct noted after_pipes;

static void set_task_on_pipe (void *owner, uint32_t events)
{
    on_pipe (owner, events);
    task_set (&after_pipes.task, reactor);
}

static void a_task_is_called_after_all_that_is_ready_and_before_the_wait (void **state)
{
    (void)state;
    struct full_pipe pipes[2];
    for (size_t i = 0; i < 2; i++) {
        pipe_open (&pipes[i], set_task_on_pipe);
        pipes[i].letter = 'd';
    }
    noted_set (&after_pipes, 't');
    task_end (&after_pipes.task);
    pass_turns (1);
    pipe_close (&pipes[0]);
    pipe_close (&pipes[1]);
    assert_string_equal (calls, "dd");
    struct task last = {.call = note_and_stop, .owner = "s"};
    task_set (&last, reactor);
    reactor_run (reactor);
    assert_string_equal (calls, "ddts");
}

static void the_task_that_stops_is_the_last (void **state)
{
    (void)state;
    struct task first = {.call = note_and_stop, .owner = "1"};
    struct task second = {.call = note_and_stop, .owner = "2"};
    task_set (&first, reactor);
    task_set (&second, reactor);
    reactor_run (reactor);
    assert_string_equal (calls, "1");
    reactor_run (reactor);
    assert_string_equal (calls, "12");
}

// -- signals

static volatile sig_atomic_t alarms;

static void on_alarm (int number)
{
    (void)number;
    alarms++;
}

static void stop_after_alarms (void *owner)
{
    struct timer *self = owner;
    note ('t');
    if (alarms < 3 && call_count < CALLS_MAX - 2)
        timer_set (self, reactor, 100);
    else
        reactor_stop (reactor);
}

static void a_signal_does_not_end_the_run (void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct itimerval every = {.it_interval.tv_usec = 10000, .it_value.tv_usec = 10000}, none = {0};
    struct timer timer = {.call = stop_after_alarms, .owner = &timer};
    alarms = 0;
    timer_set (&timer, reactor, 100);
    int64_t until_us = timer.node.at;
    sigaction (SIGALRM, &action, &before);
    setitimer (ITIMER_REAL, &every, NULL);
    reactor_run (reactor);
    setitimer (ITIMER_REAL, &none, NULL);
    sigaction (SIGALRM, &before, NULL);
    assert_true (alarms >= 3);
    assert_true (call_count >= 1);
    assert_true (clock_mono_us () >= until_us);
}

// -- sockets

// A ROUTER that is watched and its client, which numbers its questions; each is answered with its
// number.
struct service {
    void *context, *router, *client;
    struct watch watch;
    struct timer timer;
    uint32_t asked, came, answered, got;
    uint32_t between; // questions that are still to come between reading and answering
    uint8_t identity[256];
    size_t identity_size;
};

static void service_open (struct service *self)
{
    *self = (struct service){.context = wire_context_new ()};
    assert_non_null (self->context);
    self->router = wire_socket_in (self->context, ZMQ_ROUTER);
    self->client = wire_socket_in (self->context, ZMQ_DEALER);
    assert_int_equal (zmq_bind (self->router, "inproc://service"), 0);
    assert_int_equal (zmq_connect (self->client, "inproc://service"), 0);
}

static void service_close (struct service *self)
{
    watch_end (&self->watch);
    assert_false (watch_is_on (&self->watch));
    zmq_close (self->client);
    if (self->router)
        zmq_close (self->router);
    wire_context_destroy (&self->context);
}

static void ask (struct service *self, uint32_t count, uint32_t most)
{
    for (; count > 0 && self->asked < most; count--, self->asked++)
        assert_int_equal (zmq_send (self->client, &self->asked, sizeof self->asked, ZMQ_DONTWAIT),
                          sizeof self->asked);
}

// Receive one part into the bytes, without waiting. -1: there is none.
static int part (void *socket, void *bytes, size_t size, bool more)
{
    zmq_msg_t msg;
    zmq_msg_init (&msg);
    int got = zmq_msg_recv (&msg, socket, ZMQ_DONTWAIT);
    if (got >= 0) {
        assert_true ((size_t)got <= size);
        assert_int_equal (zmq_msg_more (&msg), more);
        memcpy (bytes, zmq_msg_data (&msg), (size_t)got);
    }
    zmq_msg_close (&msg);
    return got;
}

static bool question_came (struct service *self)
{
    uint32_t number;
    int size = part (self->router, self->identity, sizeof self->identity, true);
    if (size < 0)
        return false;
    self->identity_size = (size_t)size;
    assert_int_equal (part (self->router, &number, sizeof number, false), sizeof number);
    assert_int_equal (number, self->came);
    self->came++;
    return true;
}

static void answer_all (struct service *self)
{
    for (; self->answered < self->came; self->answered++) {
        struct message message;
        message_start (&message, 1);
        message_add (&message, 1, span_of (&self->answered, sizeof self->answered));
        assert_true (watch_send (&self->watch, self->router,
                                 span_of (self->identity, self->identity_size), &message));
    }
}

// What the client has by now.
static void get_answers (struct service *self)
{
    uint8_t desc[DESC_SIZE_MAX];
    uint32_t number;
    while (part (self->client, desc, sizeof desc, true) >= 0) {
        assert_int_equal (part (self->client, &number, sizeof number, false), sizeof number);
        assert_int_equal (number, self->got);
        self->got++;
    }
}

// Consume the descriptor's event, as a send or a read of ZMQ_EVENTS does.
static void eat_edge (void *socket)
{
    int events;
    size_t size = sizeof events;
    assert_int_equal (zmq_getsockopt (socket, ZMQ_EVENTS, &events, &size), 0);
}

static bool read_all (void *owner)
{
    struct service *self = owner;
    while (question_came (self))
        note ('q');
    return false;
}

static bool read_three_and_stop (void *owner)
{
    struct service *self = owner;
    read_all (self);
    if (self->came >= 3)
        reactor_stop (reactor);
    return false;
}

static void what_was_there_before_is_read (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    ask (&service, 3, 3);
    eat_edge (service.router);
    assert_false (watch_is_on (&service.watch));
    watch_start (&service.watch, reactor, service.router, read_three_and_stop, &service);
    assert_true (watch_is_on (&service.watch));
    reactor_run (reactor);
    assert_string_equal (calls, "qqq");
    service_close (&service);
}

static void what_comes_later_is_read (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    watch_start (&service.watch, reactor, service.router, read_three_and_stop, &service);
    pass_turns (3);
    assert_string_equal (calls, "");
    ask (&service, 3, 3);
    reactor_run (reactor);
    assert_string_equal (calls, "qqq");
    service_close (&service);
}

static void to_watch_what_is_watched_changes_nothing (void **state)
{
    (void)state;
    struct service service, other = {0};
    service_open (&service);
    watch_start (&service.watch, reactor, service.router, read_three_and_stop, &service);
    watch_start (&service.watch, reactor, service.router, read_all, &other);
    ask (&service, 3, 3);
    reactor_run (reactor);
    assert_int_equal (service.came, 3);
    service_close (&service);
}

// -- many messages

enum { MANY_MESSAGES = 2047, AT_ONCE = 10, PAUSE_MS = 5 };

// Each row has lots that a timer starts, so that libzmq, which looks for news when it sends but not
// for a millisecond after the last time, does look at the first answer; and questions that come
// after nothing was there, and before that answer: their edge is eaten.

static void ask_lot (void *owner)
{
    struct service *self = owner;
    self->between = 2 * AT_ONCE;
    ask (self, AT_ONCE - 1, MANY_MESSAGES);
}

static bool read_ten_and_answer (void *owner)
{
    struct service *self = owner;
    uint32_t before = self->came;
    while (self->came - before < AT_ONCE && question_came (self)) {
    }
    bool more = self->came - before == AT_ONCE;
    if (!more && self->came > before) {
        ask (self, self->between, MANY_MESSAGES);
        self->between = 0;
    }
    answer_all (self);
    get_answers (self);
    if (self->got == MANY_MESSAGES)
        reactor_stop (reactor);
    else if (self->got == self->asked && !timer_is_set (&self->timer))
        timer_set (&self->timer, reactor, PAUSE_MS);
    return more;
}

static bool read_all_and_answer_later (void *owner)
{
    struct service *self = owner;
    while (question_came (self)) {
    }
    if (!timer_is_set (&self->timer))
        timer_set (&self->timer, reactor, PAUSE_MS);
    return false;
}

static void ask_and_answer (void *owner)
{
    struct service *self = owner;
    ask (self, 89, MANY_MESSAGES);
    answer_all (self);
    get_answers (self);
    if (self->got == MANY_MESSAGES)
        reactor_stop (reactor);
}

static void run_many (watch_fn *reader, timer_fn *on_timer)
{
    struct service service;
    service_open (&service);
    service.timer = (struct timer){.call = on_timer, .owner = &service};
    watch_start (&service.watch, reactor, service.router, reader, &service);
    timer_set (&service.timer, reactor, PAUSE_MS);
    reactor_run (reactor);
    timer_end (&service.timer);
    assert_int_equal (service.came, MANY_MESSAGES);
    assert_int_equal (service.got, MANY_MESSAGES);
    service_close (&service);
}

static void a_reader_of_ten_gets_and_answers_what_comes_before_its_answers (void **state)
{
    (void)state;
    run_many (read_ten_and_answer, ask_lot);
}

static void a_reader_of_all_gets_what_comes_before_its_late_answers (void **state)
{
    (void)state;
    run_many (read_all_and_answer_later, ask_and_answer);
}

static bool only_read_ten (void *owner)
{
    struct service *self = owner;
    uint32_t before = self->came;
    while (self->came - before < AT_ONCE && question_came (self)) {
    }
    if (self->came == MANY_MESSAGES)
        reactor_stop (reactor);
    return self->came - before == AT_ONCE;
}

// All are there before the first is read, so the descriptor says nothing of those that are left,
// and nothing is sent: who reads is called for them because it says so.
static void a_reader_of_ten_gets_what_was_there_at_once (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    void *flood = wire_socket_in (service.context, ZMQ_DEALER);
    wire_set (flood, ZMQ_SNDHWM, 0);
    wire_set (service.router, ZMQ_RCVHWM, 0);
    assert_int_equal (zmq_bind (service.router, "inproc://flood"), 0);
    assert_int_equal (zmq_connect (flood, "inproc://flood"), 0);
    zmq_close (service.client);
    service.client = flood;
    ask (&service, MANY_MESSAGES, MANY_MESSAGES);
    eat_edge (service.router);
    watch_start (&service.watch, reactor, service.router, only_read_ten, &service);
    reactor_run (reactor);
    assert_int_equal (service.came, MANY_MESSAGES);
    service_close (&service);
}

// -- a client of its own thread, over a transport

struct client {
    void *context;
    char endpoint[64];
    uint64_t random;
    uint32_t asked, got;
    int done_fd;
};

static bool get_blocking (struct client *self, void *socket)
{
    uint8_t desc[DESC_SIZE_MAX];
    uint32_t number;
    if (zmq_recv (socket, desc, sizeof desc, 0) < 0 ||
        zmq_recv (socket, &number, sizeof number, 0) != sizeof number || number != self->got)
        return false;
    self->got++;
    return true;
}

static void *run_client (void *argument)
{
    struct client *self = argument;
    void *socket = wire_socket_in (self->context, ZMQ_DEALER);
    wire_set (socket, ZMQ_RCVTIMEO, GUARD_MS);
    bool good = zmq_connect (socket, self->endpoint) == 0;
    while (good && self->got < MANY_MESSAGES) {
        uint32_t lot = (uint32_t)(next_random (&self->random) % 300) + 1;
        for (; lot > 0 && self->asked < MANY_MESSAGES; lot--, self->asked++)
            zmq_send (socket, &self->asked, sizeof self->asked, 0);
        // Some are left, so that questions come while answers go.
        uint32_t left = (uint32_t)(next_random (&self->random) % 100);
        while (good && self->got + (self->asked < MANY_MESSAGES ? left : 0) < self->asked)
            good = get_blocking (self, socket);
    }
    zmq_close (socket);
    if (write (self->done_fd, "x", 1) != 1)
        abort ();
    return NULL;
}

static bool only_read_ten_and_answer (void *owner)
{
    struct service *self = owner;
    uint32_t before = self->came;
    while (self->came - before < AT_ONCE && question_came (self)) {
    }
    answer_all (self);
    return self->came - before == AT_ONCE;
}

static void only_answer (void *owner)
{
    answer_all (owner);
}

static void run_with_thread (watch_fn *reader)
{
    struct service service;
    struct full_pipe done;
    pthread_t thread;
    char folder[] = "/tmp/zplan-reactor-XXXXXX", path[48];
    service_open (&service);
    assert_non_null (mkdtemp (folder));
    snprintf (path, sizeof path, "%s/ipc", folder);
    pipe_open (&done, stop_on_pipe);
    pipe_empty (&done);
    static struct client client; // the thread outlives a row that fails
    client = (struct client){.context = service.context,
                             .random = (uint64_t)clock_mono_us () | 1,
                             .done_fd = done.fds[1]};
    snprintf (client.endpoint, sizeof client.endpoint, "ipc://%s", path);
    assert_int_equal (zmq_bind (service.router, client.endpoint), 0);
    service.timer = (struct timer){.call = only_answer, .owner = &service};
    watch_start (&service.watch, reactor, service.router, reader, &service);
    assert_int_equal (pthread_create (&thread, NULL, run_client, &client), 0);
    reactor_run (reactor);
    pthread_join (thread, NULL);
    timer_end (&service.timer);
    pipe_close (&done);
    service_close (&service);
    unlink (path);
    rmdir (folder);
    assert_int_equal (client.got, MANY_MESSAGES);
    assert_int_equal (service.came, MANY_MESSAGES);
}

static void a_reader_of_ten_serves_a_thread (void **state)
{
    (void)state;
    run_with_thread (only_read_ten_and_answer);
}

static void a_reader_of_all_serves_a_thread_later (void **state)
{
    (void)state;
    run_with_thread (read_all_and_answer_later);
}

// -- the end of a watch

static void watch_again (void *owner);

static bool read_ten_and_end (void *owner)
{
    struct service *self = owner;
    for (int i = 0; i < AT_ONCE && question_came (self); i++) {
    }
    note ('r');
    watch_end (&self->watch);
    if (self->came == 5 * AT_ONCE)
        reactor_stop (reactor);
    else
        timer_set (&self->timer, reactor, PAUSE_MS);
    return false;
}

static void watch_again (void *owner)
{
    struct service *self = owner;
    assert_false (watch_is_on (&self->watch));
    note ('w');
    watch_start (&self->watch, reactor, self->router, read_ten_and_end, self);
}

static void what_is_left_when_the_watch_ends_is_read_when_it_starts_again (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    service.timer = (struct timer){.call = watch_again, .owner = &service};
    ask (&service, 5 * AT_ONCE, 5 * AT_ONCE);
    watch_again (&service);
    reactor_run (reactor);
    assert_string_equal (calls, "wrwrwrwrwr");
    service_close (&service);
}

static void a_watch_that_ended_is_not_read (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    watch_start (&service.watch, reactor, service.router, read_all, &service);
    ask (&service, 1, 1);
    watch_end (&service.watch); // before its first call
    watch_end (&service.watch);
    pass_turns (3);
    assert_string_equal (calls, "");
    watch_start (&service.watch, reactor, service.router, read_all, &service);
    pass_turns (3);
    watch_end (&service.watch);
    ask (&service, 1, 2); // the descriptor is ready, and nobody is to be called
    pass_turns (3);
    assert_string_equal (calls, "q");
    service_close (&service);
}

static bool close_and_free (void *owner)
{
    struct service *self = owner;
    note ('r');
    assert_true (question_came (self));
    watch_end (&self->watch);
    zmq_close (self->router);
    self->router = NULL;
    service_close (self);
    free (self);
    return false;
}

static void who_reads_may_close_the_socket_and_free_the_watch (void **state)
{
    (void)state;
    struct service *service = malloc (sizeof *service);
    service_open (service);
    ask (service, 3, 3);
    watch_start (&service->watch, reactor, service->router, close_and_free, service);
    pass_turns (3);
    assert_string_equal (calls, "r");
}

static void what_is_sent_on_a_socket_that_is_not_watched_comes (void **state)
{
    (void)state;
    struct service service;
    service_open (&service);
    ask (&service, 3, 3);
    read_all (&service);
    answer_all (&service);
    get_answers (&service);
    assert_int_equal (service.got, 3);
    watch_start (&service.watch, reactor, service.router, read_all, &service);
    watch_end (&service.watch);
    ask (&service, 3, 6);
    while (question_came (&service)) {
    }
    answer_all (&service);
    get_answers (&service);
    assert_int_equal (service.got, 6);
    pass_turns (3);
    assert_string_equal (calls, "qqq"); // nobody is called for what was sent
    service_close (&service);
}

static void what_could_not_be_sent_is_told (void **state)
{
    (void)state;
    struct service service;
    struct message message;
    service_open (&service);
    void *alone = wire_socket_in (service.context, ZMQ_DEALER); // nobody is there to take it
    message_start (&message, 1);
    assert_false (watch_send (&service.watch, alone, (struct span){0}, &message));
    zmq_close (alone);
    service_close (&service);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    TEST (a_descriptor_is_called_in_each_turn_while_it_is_ready),
    TEST (a_descriptor_ends_the_wait),
    TEST (the_events_are_those_that_are_asked_for_last),
    TEST (the_end_of_a_peer_is_told_unasked),
    TEST (an_ended_descriptor_is_not_called),
    TEST (a_descriptor_that_another_ends_is_not_called_in_the_same_turn),
    TEST (a_descriptor_that_is_ended_and_set_is_called_for_what_comes_then),
    TEST (who_owns_a_descriptor_may_free_it_and_others_in_its_call),
    TEST (of_many_descriptors_none_is_forgotten),
    TEST (what_is_ready_when_it_is_stopped_is_called_in_the_next_run),
    TEST (timers_are_called_once_in_their_order_and_not_before),
    TEST (a_timer_that_is_set_again_has_only_the_new_time),
    TEST (an_ended_timer_is_not_called),
    TEST (a_timer_that_another_ends_is_not_called_though_it_is_due),
    TEST (a_timer_may_set_itself_again),
    TEST (who_owns_a_timer_may_free_it_in_its_call),
    TEST (the_timer_that_stops_is_the_last_and_the_rest_is_called_in_the_next_run),
    TEST (a_task_that_is_set_twice_is_called_once),
    TEST (tasks_are_called_in_the_order_of_setting),
    TEST (a_task_that_sets_itself_lets_the_descriptors_have_their_turn),
    TEST (a_task_that_a_task_sets_is_called_in_the_next_turn),
    TEST (a_task_that_another_ends_is_not_called),
    TEST (who_owns_a_task_may_free_it_in_its_call),
    TEST (a_task_is_called_after_all_that_is_ready_and_before_the_wait),
    TEST (the_task_that_stops_is_the_last),
    TEST (a_signal_does_not_end_the_run),
    TEST (what_was_there_before_is_read),
    TEST (what_comes_later_is_read),
    TEST (to_watch_what_is_watched_changes_nothing),
    TEST (a_reader_of_ten_gets_and_answers_what_comes_before_its_answers),
    TEST (a_reader_of_all_gets_what_comes_before_its_late_answers),
    TEST (a_reader_of_ten_gets_what_was_there_at_once),
    TEST (a_reader_of_ten_serves_a_thread),
    TEST (a_reader_of_all_serves_a_thread_later),
    TEST (what_is_left_when_the_watch_ends_is_read_when_it_starts_again),
    TEST (a_watch_that_ended_is_not_read),
    TEST (who_reads_may_close_the_socket_and_free_the_watch),
    TEST (what_is_sent_on_a_socket_that_is_not_watched_comes),
    TEST (what_could_not_be_sent_is_told),
};

int main (void)
{
    return cmocka_run_group_tests_name ("reactor", tests, NULL, NULL);
}
