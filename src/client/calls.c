// The typed calls: frames for zplan_client_call and zplan_client_send.
#include "client_private.h"

#include "ident.h"

// A request being built; must be zeroed first. Everything but the request id is borrowed from the
// caller.
struct call_request {
    uint8_t command;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX];
    char request_id[IDENT_REQUEST_SIZE];
};

static void add_text_frame (struct call_request *self, uint8_t type, const char *text)
{
    self->frames[self->count++] = (struct zplan_frame){type, text, strlen (text)};
}

// -- submissions

static int build_submission_request (struct zplan_client *client,
                                     const struct zplan_submission *submission,
                                     struct call_request *ret)
{
    enum { OWN_FRAMES = 4 }; // PLAN, STATION_ID, GLOBAL_ID, REQUEST_ID
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (!submission || !submission->station || !submission->plan ||
        (submission->count && !submission->frames))
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "submission: %s is missing",
                             !submission            ? "it"
                             : !submission->station ? "station"
                             : !submission->plan    ? "plan"
                                                    : "frames");
    if (submission->count > ZPLAN_FRAMES_MAX - OWN_FRAMES)
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "frames: at most %d, got %zu",
                             ZPLAN_FRAMES_MAX - OWN_FRAMES, submission->count);
    ret->command = ZERO_BYTE_COMMAND_PLAN;
    add_text_frame (ret, ZERO_FRAME_PLAN, submission->plan);
    add_text_frame (ret, ZERO_FRAME_STATION_ID, submission->station);
    if (submission->id)
        add_text_frame (ret, ZERO_FRAME_GLOBAL_ID, submission->id);
    bool has_request_id = false;
    for (size_t i = 0; i < submission->count; i++) {
        has_request_id = has_request_id || submission->frames[i].type == ZERO_FRAME_REQUEST_ID;
        ret->frames[ret->count++] = submission->frames[i];
    }
    if (submission->id && !has_request_id) {
        add_text_frame (ret, ZERO_FRAME_REQUEST_ID,
                        ident_request (submission->id, ret->request_id));
    }
    return ZPLAN_OK;
}

int zplan_client_submit (struct zplan_client *client, const struct zplan_submission *submission,
                         struct zplan_reply *ret)
{
    struct call_request request = {0};
    int error = build_submission_request (client, submission, &request);
    return error ? error
                 : zplan_client_call (client, request.command, request.frames, request.count, ret);
}

int zplan_client_send_submission (struct zplan_client *client,
                                  const struct zplan_submission *submission, zplan_reply_fn *fn,
                                  void *context)
{
    struct call_request request = {0};
    int error = build_submission_request (client, submission, &request);
    return error ? error
                 : zplan_client_send (client, request.command, request.frames, request.count, fn,
                                      context);
}

static int read_plan_as_submission (struct zplan_client *client, struct zplan_plan *plan,
                                    struct zplan_submission *ret)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (!plan)
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "plan: is missing");
    int error = plan_builder_submission (plan, ret);
    return error ? reason_error (&client->reason, error, "%s", zplan_plan_error (plan)) : ZPLAN_OK;
}

int zplan_client_submit_plan (struct zplan_client *client, struct zplan_plan *plan,
                              struct zplan_reply *ret)
{
    struct zplan_submission submission;
    int error = read_plan_as_submission (client, plan, &submission);
    return error ? error : zplan_client_submit (client, &submission, ret);
}

int zplan_client_send_plan (struct zplan_client *client, struct zplan_plan *plan,
                            zplan_reply_fn *fn, void *context)
{
    struct zplan_submission submission;
    int error = read_plan_as_submission (client, plan, &submission);
    return error ? error : zplan_client_send_submission (client, &submission, fn, context);
}

// -- admin commands

static int build_command_request (struct zplan_client *client, const char *word,
                                  const char *const *args, size_t count, struct call_request *ret)
{
    if (!client)
        return ZPLAN_ERROR_ARGUMENT;
    if (!word || (count && !args))
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "%s: is missing",
                             word ? "args" : "word");
    if (count > ZPLAN_MANAGE_ARGS_MAX)
        return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "args: at most %d, got %zu",
                             ZPLAN_MANAGE_ARGS_MAX, count);
    ret->command = ZERO_BYTE_COMMAND_NONE;
    add_text_frame (ret, ZERO_FRAME_COMMAND, word);
    for (size_t i = 0; i < count; i++) {
        if (!args[i])
            return reason_error (&client->reason, ZPLAN_ERROR_ARGUMENT, "args: number %zu is NULL",
                                 i);
        add_text_frame (ret, ZERO_FRAME_ARG, args[i]);
    }
    return ZPLAN_OK;
}

int zplan_client_manage (struct zplan_client *client, const char *word, const char *const *args,
                         size_t count, struct zplan_reply *ret)
{
    struct call_request request = {0};
    int error = build_command_request (client, word, args, count, &request);
    return error ? error
                 : zplan_client_call (client, request.command, request.frames, request.count, ret);
}

int zplan_client_send_word (struct zplan_client *client, const char *word, const char *const *args,
                            size_t count, zplan_reply_fn *fn, void *context)
{
    struct call_request request = {0};
    int error = build_command_request (client, word, args, count, &request);
    return error ? error
                 : zplan_client_send (client, request.command, request.frames, request.count, fn,
                                      context);
}

int zplan_client_ping (struct zplan_client *client, struct zplan_reply *ret)
{
    return zplan_client_call (client, ZERO_BYTE_COMMAND_PING, NULL, 0, ret);
}
