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

static struct span append_bytes (uint8_t **at, struct span bytes)
{
    uint8_t *start = *at;
    if (bytes.size)
        memcpy (start, bytes.data, bytes.size);
    *at += bytes.size;
    return span_of (start, bytes.size);
}

struct job *job_new (struct span identity, const struct message *request)
{
    static uint64_t count;
    char made[MAILBOX_MADE_SIZE];
    bool of_plan = request->envelope == ENVELOPE_MAILBOX;
    struct span mailbox = of_plan ? request->sender : make_mailbox (made);

    size_t size = sizeof (struct job) + identity.size + mailbox.size + request->desc_bytes.size;
    for (size_t i = 0; i < request->desc.count; i++)
        size += request->frames[i].size;

    struct job *self = memory_new (size);
    uint8_t *at = self->bytes;
    self->kind = request->desc.code == ZERO_BYTE_COMMAND_PROXY ? JOB_RUN : JOB_CALL;
    self->number = ++count;
    self->size = size;
    self->identity = append_bytes (&at, identity);
    self->mailbox = append_bytes (&at, mailbox);
    self->message.envelope = request->envelope;
    self->message.sender = of_plan ? self->mailbox : (struct span){0};
    self->message.desc = request->desc;
    self->message.desc_bytes = append_bytes (&at, request->desc_bytes);
    for (size_t i = 0; i < request->desc.count; i++)
        self->message.frames[i] = append_bytes (&at, request->frames[i]);
    if (self->kind == JOB_RUN)
        self->deadline_s = run_deadline_s (&self->message);
    return self;
}

void job_destroy (struct job **self)
{
    if ((*self)->runs)
        table_remove ((*self)->runs, &(*self)->node);
    free ((*self)->renewed);
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
    uint8_t *bytes = memory_new (identity.size + local_id.size + 1), *at = bytes;
    self->identity = append_bytes (&at, identity);
    self->local_id = append_bytes (&at, local_id);
    self->deadline_s = run_deadline_s (run);
    self->rerouted = false;
    free (self->renewed);
    self->renewed = bytes;
}

size_t job_layout (const struct job *self, struct span out[MESSAGE_FRAMES_MAX])
{
    size_t count = 0;
    out[count++] = self->mailbox;
    out[count++] = self->message.desc_bytes;
    for (size_t i = 0; i < self->message.desc.count; i++)
        out[count++] = self->message.frames[i];
    return count;
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
    job->next = NULL;
    if (self->tail)
        self->tail->next = job;
    else
        self->head = job;
    self->tail = job;
    self->count++;
    self->bytes += job->size;
}

struct job *job_queue_pop (struct job_queue *self)
{
    struct job *job = self->head;
    if (job)
        job_queue_remove (self, job);
    return job;
}

void job_queue_remove (struct job_queue *self, const struct job *job)
{
    struct job *before = NULL;
    for (struct job *at = self->head; at != job; at = at->next)
        before = at;
    *(before ? &before->next : &self->head) = job->next;
    if (self->tail == job)
        self->tail = before;
    self->count--;
    self->bytes -= job->size;
}
