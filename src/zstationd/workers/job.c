#include "job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "json.h"
#include "memory.h"
#include "process.h"

enum {
    MAILBOX_MADE_SIZE = 1 + 16 + 16 + 1, // '+', random, counter, NUL
    PLAN_FRAME_MAX = 64 << 10            // a larger PLAN frame is not parsed
};

// Make a random mailbox that is unique in this process.
static struct span make_mailbox (char out[MAILBOX_MADE_SIZE])
{
    static uint64_t count;
    snprintf (out, MAILBOX_MADE_SIZE, "+%016" PRIx64 "%" PRIx64, process_random (), ++count);
    return span_text (out);
}

struct job *job_new (struct span identity, const struct message *request)
{
    static uint64_t count;
    char made[MAILBOX_MADE_SIZE];
    bool of_plan = request->envelope == ENVELOPE_MAILBOX;
    struct span frames[1 + MESSAGE_FRAMES_MAX] = {
        identity, of_plan ? request->sender : make_mailbox (made), request->desc_bytes};
    enum { BEFORE = 3 }; // frames before those of the request
    size_t frames_bytes = request->desc.count * sizeof *frames;
    memcpy (frames + BEFORE, request->frames, frames_bytes);

    struct job *self = memory_new (sizeof *self);
    self->received = frames_copy (frames, BEFORE + request->desc.count);
    const struct span *at = self->received->at;
    self->is_run = request->desc.code == ZERO_BYTE_COMMAND_PROXY;
    self->number = ++count;
    self->identity = at[0];
    self->mailbox = at[1];
    self->size = sizeof *self + sizeof frames + at[0].size + at[1].size + at[2].size +
                 message_size (request);
    self->message.envelope = request->envelope;
    self->message.sender = of_plan ? self->mailbox : (struct span){0};
    self->message.desc = request->desc;
    self->message.desc_bytes = at[2];
    memcpy (self->message.frames, at + BEFORE, frames_bytes);
    if (self->is_run)
        self->deadline_s = run_deadline_s (&self->message);
    return self;
}

void job_destroy (struct job **self)
{
    if ((*self)->runs)
        table_remove ((*self)->runs, &(*self)->node);
    free ((*self)->renewed);
    free ((*self)->received);
    free (*self);
    *self = NULL;
}

// -- duplicate runs

void job_add_to_runs (struct job *self, struct table *runs)
{
    self->runs = runs;
    table_add (runs, &self->node, table_hash (self->mailbox));
}

// Whether both messages are deliveries of one run: all frames are equal, except for the PLAN frame
// and the last LOCAL_ID, which each resend replaces. False also if they have no LOCAL_ID.
static bool is_same_run (const struct message *a, const struct message *b)
{
    size_t local_id = a->desc.count; // index of the last LOCAL_ID; `count` = none
    if (a->desc.count != b->desc.count)
        return false;
    for (size_t i = 0; i < a->desc.count; i++) {
        if (a->desc.types[i] != b->desc.types[i])
            return false;
        if (a->desc.types[i] == ZERO_FRAME_LOCAL_ID)
            local_id = i;
    }
    for (size_t i = 0; i < a->desc.count; i++)
        if (i != local_id && a->desc.types[i] != ZERO_FRAME_PLAN &&
            !span_equal (a->frames[i], b->frames[i]))
            return false;
    return local_id < a->desc.count;
}

struct job *job_find_duplicate (const struct table *runs, struct span identity,
                                const struct message *run)
{
    bool timed;
    message_frame (run, ZERO_FRAME_PLAN_TIME, &timed);
    if (!timed || run->envelope != ENVELOPE_MAILBOX || identity.size > RUN_IDENTITY_MAX ||
        message_last_frame (run, ZERO_FRAME_LOCAL_ID, NULL).size > RUN_ID_MAX)
        return NULL;
    struct table_node *node = table_find (runs, table_hash (run->sender));
    for (; node; node = table_next (node)) {
        struct job *job = (struct job *)((uint8_t *)node - offsetof (struct job, node));
        if (!job->cancelled && span_equal (job->mailbox, run->sender) &&
            is_same_run (&job->message, run))
            return job;
    }
    return NULL;
}

void job_update_delivery (struct job *self, struct span identity, const struct message *run)
{
    struct span local_id = message_last_frame (run, ZERO_FRAME_LOCAL_ID, NULL);
    struct frames *renewed = frames_copy ((const struct span[]){identity, local_id}, 2);
    self->identity = renewed->at[0];
    self->local_id = renewed->at[1];
    self->deadline_s = run_deadline_s (run);
    self->rerouted = false;
    free (self->renewed);
    self->renewed = renewed;
}

int64_t run_deadline_s (const struct message *run)
{
    struct span plan = message_frame (run, ZERO_FRAME_PLAN, NULL);
    struct reason reason;
    if (plan.size == 0 || plan.size > PLAN_FRAME_MAX)
        return 0;
    json_t *fields = json_read_object (plan, &reason);
    int64_t deadline_s = 0;
    if (fields)
        json_get_integer (fields, "deadline", 1, INT64_MAX, &deadline_s);
    json_decref (fields);
    return deadline_s;
}

bool deadline_past (int64_t deadline_s)
{
    return deadline_s > 0 && clock_wall_us () / 1000000 >= deadline_s;
}

void job_queue_push (struct job_queue *self, struct job *job)
{
    TAILQ_INSERT_TAIL (&self->jobs, job, place);
    self->count++;
    self->bytes += job->size;
}

struct job *job_queue_pop (struct job_queue *self)
{
    struct job *job = TAILQ_FIRST (&self->jobs);
    if (job)
        job_queue_remove (self, job);
    return job;
}

void job_queue_remove (struct job_queue *self, struct job *job)
{
    TAILQ_REMOVE (&self->jobs, job, place);
    self->count--;
    self->bytes -= job->size;
}
