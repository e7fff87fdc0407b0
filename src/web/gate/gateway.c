#include "gateway.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "json.h"
#include "memory.h"
#include "problem.h"

enum {
    IN_FLIGHT_MAX = 64,
    LARGE_MAX = 4, // questions with large answers in flight
    USER_LARGE_MAX = 2,
    REPEAT_MS = 200,
    // A timeout of the client ends all questions in flight on its connection, so it is not short.
    // on_timer answers questions with earlier deadlines.
    CLIENT_MS_MIN = 2000
};

// A user with questions. The one with the fewest in flight is served next, so that a busy user does
// not starve the others.
struct requester {
    struct requester *next;
    char *user; // "" = no user
    size_t questions, in_flight, large;
};

// A question that waits to be sent, is in flight, or waits for a retry.
struct pending_question {
    struct gateway *gateway;
    struct requester *requester;
    struct pending_question *next, **place;
    enum { QUESTION_WAITS, QUESTION_IN_FLIGHT, QUESTION_WAITS_FOR_RETRY } state;
    struct question question;
    int64_t deadline_us;
    bool was_busy, was_lost;
    struct timer timer; // the deadline; or, after schedule_retry, the time of the retry
    gateway_fn *fn;     // NULL: answered already, while it was in flight
    void *owner;
};

struct gateway {
    struct reactor *reactor;
    struct zplan_client *client;
    struct source source;
    struct task task; // starts questions that may start
    struct pending_question *first, **end;
    struct pending_question *ended; // freed in the next run of `task`
    struct requester *requesters;
    size_t in_flight, large;
    bool closing;
};

static void question_start (struct pending_question *ask);

static void schedule_starts (struct gateway *self)
{
    if (!self->closing)
        task_set (&self->task, self->reactor);
}

// -- requesters

static struct requester *requester_join (struct gateway *self, const char *user)
{
    struct requester *requester = self->requesters;
    while (requester && strcmp (requester->user, user) != 0)
        requester = requester->next;
    if (!requester) {
        requester = memory_new (sizeof *requester);
        requester->user = memory_text (user);
        requester->next = self->requesters;
        self->requesters = requester;
    }
    requester->questions++;
    return requester;
}

static void requester_leave (struct gateway *self, struct requester *requester)
{
    struct requester **place = &self->requesters;
    if (--requester->questions)
        return;
    while (*place != requester)
        place = &(*place)->next;
    *place = requester->next;
    free (requester->user);
    free (requester);
}

static bool may_start_question (const struct pending_question *ask)
{
    const struct gateway *self = ask->gateway;
    return self->in_flight < IN_FLIGHT_MAX &&
           (!ask->question.large ||
            (self->large < LARGE_MAX && ask->requester->large < USER_LARGE_MAX));
}

static void count_in_flight (struct pending_question *ask, bool starts)
{
    size_t change = starts ? 1 : (size_t)-1, large = ask->question.large ? change : 0;
    ask->gateway->in_flight += change;
    ask->gateway->large += large;
    ask->requester->in_flight += change;
    ask->requester->large += large;
}

// -- one question

static void question_end (struct pending_question *ask, const struct station_answer *answer)
{
    *ask->place = ask->next;
    if (ask->next)
        ask->next->place = ask->place;
    else
        ask->gateway->end = ask->place;
    timer_end (&ask->timer);
    requester_leave (ask->gateway, ask->requester);
    ask->next = ask->gateway->ended;
    ask->gateway->ended = ask;
    schedule_starts (ask->gateway);
    if (ask->fn)
        ask->fn (ask->owner, answer);
}

static void question_fail (struct pending_question *ask, int error)
{
    const struct station_answer answer = {.error = error};
    question_end (ask, &answer);
}

static void on_timer (void *owner)
{
    static const struct station_answer late = {.error = ZPLAN_ERROR_NO_ANSWER};
    struct pending_question *ask = owner;
    if (ask->state == QUESTION_IN_FLIGHT) {
        gateway_fn *fn = ask->fn;
        ask->fn = NULL;
        fn (ask->owner, &late);
    } else if (clock_mono_us () >= ask->deadline_us) {
        question_fail (ask, ZPLAN_ERROR_NO_ANSWER);
    } else {
        question_start (ask);
    }
}

// Schedule a retry of the question, if its flags and deadline allow one. False: it is not retried.
static bool schedule_retry (struct pending_question *ask)
{
    if (!ask->fn || !ask->question.repeat || ask->gateway->closing ||
        clock_mono_us () + REPEAT_MS * 1000 >= ask->deadline_us)
        return false;
    ask->state = QUESTION_WAITS_FOR_RETRY;
    timer_set (&ask->timer, ask->gateway->reactor, REPEAT_MS);
    return true;
}

// Retry the question if the reply says that the station cannot answer at the moment. False: it is
// not retried, and the reply counts.
static bool retry_if_busy (struct pending_question *ask, const struct zplan_reply *reply)
{
    bool busy = reply->status == ZERO_STATUS_BUSY_ID;
    char words[REASON_MAX];
    int after_s = 1;
    zplan_reply_words (reply, words, sizeof words);
    if (busy && problem_busy (words, false, &after_s) != 503)
        return false;
    bool may_retry = busy ? !ask->was_busy : reply->status == ZERO_STATUS_NET_ERROR_ID;
    if (!may_retry || !schedule_retry (ask))
        return false;
    ask->was_busy = ask->was_busy || busy;
    return true;
}

static void on_reply (void *context, int error, const struct zplan_reply *reply)
{
    struct pending_question *ask = context;
    count_in_flight (ask, false);
    // Another question timed out, which closed the connection of all questions in flight. Only
    // reads are retried, as a change may be done already; and once, so that an outage is reported
    // soon.
    if (error == ZPLAN_ERROR_NO_ANSWER && ask->question.reads && !ask->was_lost &&
        schedule_retry (ask)) {
        ask->was_lost = true;
        schedule_starts (ask->gateway);
        return;
    }
    if (error != ZPLAN_OK) {
        // The question was sent: even if the client was closed, the station may have acted on it.
        question_fail (ask, error == ZPLAN_ERROR_CLOSED ? ZPLAN_ERROR_NO_ANSWER : error);
        return;
    }
    if (retry_if_busy (ask, reply)) {
        schedule_starts (ask->gateway);
        return;
    }
    struct reason ignored;
    struct station_answer answer = {.status = reply->status};
    size_t size = 0;
    const void *bytes = zplan_reply_frame (reply, ZERO_FRAME_JSON, &size);
    struct span text = span_of (bytes, bytes ? size : 0);
    bool is_parsed = !ask->question.as_text || reply->status >= ZERO_STATUS_ERROR_FLAG;
    json_t *json = is_parsed && text.size ? json_read_object (text, &ignored) : NULL;
    answer.json = json;
    answer.text = is_parsed ? (struct span){0} : text;
    char words[REASON_MAX];
    const char *colon = strstr (zplan_reply_words (reply, words, sizeof words), ": ");
    memcpy (answer.reason, colon ? colon + 2 : words, strlen (colon ? colon + 2 : words) + 1);
    answer.stored = zplan_reply_stored (reply);
    bytes = zplan_reply_frame (reply, ZERO_FRAME_GLOBAL_ID, &size);
    if (bytes && size < sizeof answer.id)
        memcpy (answer.id, bytes, size);
    question_end (ask, &answer);
    json_decref (json);
}

static struct zplan_frame text_frame (uint8_t type, const char *text)
{
    return (struct zplan_frame){type, text, strlen (text)};
}

// Send a command or PING; the name of the user, if any, is sent in a frame. Returns an enum
// zplan_error.
static int send_command (struct gateway *self, struct pending_question *ask)
{
    const struct question *question = &ask->question;
    struct zplan_frame frames[GATEWAY_ARGS_MAX + 2];
    size_t count = 0;
    if (!question->command)
        return zplan_client_send (self->client, ZERO_BYTE_COMMAND_PING, NULL, 0, on_reply, ask);
    frames[count++] = text_frame (ZERO_FRAME_COMMAND, question->command);
    for (const char *const *arg = question->args; *arg; arg++)
        frames[count++] = text_frame (ZERO_FRAME_ARG, *arg);
    if (question->user)
        frames[count++] = text_frame (ZERO_FRAME_REQUESTER, question->user);
    return zplan_client_send (self->client, ZERO_BYTE_COMMAND_NONE, frames, count, on_reply, ask);
}

static void question_start (struct pending_question *ask)
{
    struct gateway *self = ask->gateway;
    int64_t left_ms = (ask->deadline_us - clock_mono_us ()) / 1000;
    timer_set (&ask->timer, self->reactor, left_ms + 1);
    if (!may_start_question (ask)) {
        ask->state = QUESTION_WAITS;
        return;
    }
    zplan_client_set_timeout (self->client, left_ms > CLIENT_MS_MIN ? left_ms : CLIENT_MS_MIN);
    ask->state = QUESTION_IN_FLIGHT;
    count_in_flight (ask, true);
    int error =
        ask->question.submission
            ? zplan_client_send_submission (self->client, ask->question.submission, on_reply, ask)
            : send_command (self, ask);
    if (error == ZPLAN_OK)
        return;
    count_in_flight (ask, false);
    question_fail (ask, error);
}

static void free_ended_questions (struct gateway *self)
{
    while (self->ended) {
        struct pending_question *ask = self->ended;
        self->ended = ask->next;
        free (ask);
    }
}

// The question that has waited longest, of the user with the fewest in flight; NULL = none may
// start.
static struct pending_question *next_startable_question (const struct gateway *self)
{
    struct pending_question *best = NULL;
    for (struct pending_question *ask = self->first; ask && self->in_flight < IN_FLIGHT_MAX;
         ask = ask->next)
        if (ask->state == QUESTION_WAITS && may_start_question (ask) &&
            (!best || ask->requester->in_flight < best->requester->in_flight))
            best = ask;
    return best;
}

static void on_task (void *owner)
{
    struct gateway *self = owner;
    free_ended_questions (self);
    for (struct pending_question *ask; (ask = next_startable_question (self));)
        question_start (ask);
}

static void on_client (void *owner, uint32_t events)
{
    struct gateway *self = owner;
    (void)events;
    zplan_client_process (self->client);
}

struct gateway *gateway_new (struct reactor *reactor, struct zplan_client *client)
{
    struct gateway *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->client = client;
    self->end = &self->first;
    self->source = (struct source){.call = on_client, .owner = self};
    self->task = (struct task){.call = on_task, .owner = self};
    source_set (&self->source, reactor, zplan_client_fd (client), EPOLLIN);
    return self;
}

void gateway_destroy (struct gateway **self_p)
{
    struct gateway *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    source_end (&self->source);
    zplan_client_destroy (&self->client); // ends questions in flight, and calls their callbacks
    while (self->first)
        question_fail (self->first, ZPLAN_ERROR_CLOSED);
    task_end (&self->task);
    free_ended_questions (self);
    free (self);
    *self_p = NULL;
}

void gateway_ask (struct gateway *self, const struct question *question, gateway_fn *fn,
                  void *owner)
{
    struct pending_question *ask = memory_new (sizeof *ask);
    int64_t ms = question->deadline_ms ? question->deadline_ms : GATEWAY_DEADLINE_MS;
    ask->gateway = self;
    ask->requester = requester_join (self, question->user ? question->user : "");
    ask->question = *question;
    ask->deadline_us = clock_mono_us () + ms * 1000;
    ask->fn = fn;
    ask->owner = owner;
    ask->timer = (struct timer){.call = on_timer, .owner = ask};
    ask->place = self->end;
    *self->end = ask;
    self->end = &ask->next;
    timer_set (&ask->timer, self->reactor, ms + 1);
    schedule_starts (self);
}
