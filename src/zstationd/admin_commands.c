// Admin commands at the request socket (proto/ 7.8), answered by the station itself: `workers`
// lists the workers, `drain NAME` lets the workers of that name leave when their jobs are done.
#include "frontend.h"

#include <stdlib.h>

#include "answer.h"
#include "codes.h"
#include "json.h"
#include "memory.h"
#include "backend.h"
#include "station_name.h"

static void answer_with_json (struct target_server *station, const struct target_request *request,
                              json_t *value)
{
    char *text = json_write (value);
    struct message answer;
    message_start (&answer, ZERO_STATUS_OK_ID);
    message_add (&answer, ZERO_FRAME_JSON, span_text (text));
    answer_request_with (station, request, &answer);
    free (text);
    json_decref (value);
}

// All workers, or those of this name unless it is empty, sorted by workers_compare; the caller
// frees the array.
static struct worker **collect_workers (const struct target_server *station, struct span name,
                                        size_t *ret_count)
{
    size_t all = station->workers.count, count = 0;
    struct worker **found = memory_new ((all + 1) * sizeof (struct worker *));
    for (size_t i = 0; i < all; i++) {
        struct worker *worker = workers_at (&station->workers, i);
        if (name.size == 0 || span_is (name, worker->name))
            found[count++] = worker;
    }
    qsort (found, count, sizeof *found, workers_compare);
    *ret_count = count;
    return found;
}

static json_t *worker_json (const struct worker *worker)
{
    json_t *commands = worker->commands ? json_array () : NULL;
    struct span name, rest = worker->commands ? span_text (worker->commands) : (struct span){0};
    while (span_take_item (&rest, &name))
        json_array_append_new (commands, json_from_frame (name));
    return json_pack ("{s:s, s:I, s:I, s:I, s:b, s:o*}", "name", worker->name, "jobs",
                      (json_int_t)worker->job_count, "credits", (json_int_t)worker->credit, "since",
                      (json_int_t)worker->joined_s, "draining", worker->draining, "commands",
                      commands);
}

static void list_workers (struct target_server *station, const struct target_request *request)
{
    size_t count;
    struct worker **found = collect_workers (station, (struct span){0}, &count);
    json_t *rows = json_array ();
    for (size_t i = 0; i < count; i++)
        json_array_append_new (rows, worker_json (found[i]));
    free (found);
    answer_with_json (station, request, rows);
}

// Drain all workers of the name in ARG.
static void drain_workers (struct target_server *station, const struct target_request *request)
{
    size_t count;
    struct span name = message_frame (&request->message, ZERO_FRAME_ARG, NULL);
    if (!station_name_valid (name)) {
        answer_request (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID,
                        "ARG: want a worker's name, 1..64 of A-Z a-z 0-9 _ . -");
        return;
    }
    struct worker **found = collect_workers (station, name, &count);
    for (size_t i = 0; i < count; i++)
        backend_drain_worker (station, found[i]);
    free (found);
    if (count)
        answer_with_json (station, request, json_pack ("{s:I}", "workers", (json_int_t)count));
    else
        answer_request (station, request, ZERO_STATUS_NOT_FIND_ID,
                        "no worker of this name has joined");
}

static const struct {
    const char *name;
    target_request_fn *handle;
} admin_commands[] = {{"workers", list_workers}, {"drain", drain_workers}};

bool frontend_handle_admin_command (struct target_server *station,
                                    const struct target_request *request)
{
    enum envelope envelope = request->message.envelope;
    if (envelope != ENVELOPE_PLAIN && envelope != ENVELOPE_REQ)
        return false;
    struct span command = message_frame (&request->message, ZERO_FRAME_COMMAND, NULL);
    for (size_t i = 0; i < sizeof admin_commands / sizeof *admin_commands; i++) {
        if (!span_is (command, admin_commands[i].name))
            continue;
        admin_commands[i].handle (station, request);
        return true;
    }
    return false;
}
