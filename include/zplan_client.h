// Requests to a plan proxy station: wait for each answer, or have many in progress and get
// callbacks in your own event loop.
//
// ---- example: loop
//     #include <poll.h>
//     #include <stdio.h>
//     #include <zplan.h>
//
//     static void answered (void *context, int error, const struct zplan_reply *reply)
//     {
//         char words[200];
//         printf ("%s: %s\n", (const char *)context,
//                 error ? zplan_error_text (error)
//                       : zplan_reply_words (reply, words, sizeof words));
//     }
//
//     int main (int argc, char **argv)
//     {
//         static char first[] = "stats", second[] = "list";
//         struct zplan_client *client =
//             zplan_client_new (argc > 1 ? argv[1] : "tcp://127.0.0.1:7920");
//         if (!client)
//             return 1;
//         zplan_client_send_word (client, "stats", NULL, 0, answered, first);
//         zplan_client_send_word (client, "list", NULL, 0, answered, second);
//         struct pollfd item = {zplan_client_fd (client), POLLIN, 0}; // and others, in a real loop
//         while (zplan_client_in_hand (client) > 0)
//             if (poll (&item, 1, -1) > 0)
//                 zplan_client_process (client);
//         zplan_client_destroy (&client);
//         return 0;
//     }
// ---- end
#ifndef ZPLAN_CLIENT_H
#define ZPLAN_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"
#include "zplan_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ZPLAN_MANAGE_ARGS_MAX = 8, // arguments of one admin command
    ZPLAN_REQUESTS_MAX = 1000, // requests of one client without an answer yet
    ZPLAN_ENDPOINTS_MAX = 8    // endpoints of one list
};

struct zplan_client;

// A station's answer. Its bytes belong to the client and are valid until the client's next call, or
// until the callback that received it returns.
struct zplan_reply {
    uint8_t status; // ZERO_STATUS_...; from ZERO_STATUS_ERROR_FLAG on the request was rejected
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // in their order on the wire
};

// A client of the station whose request socket is at `endpoint` (tcp://HOST:PORT or ipc://PATH). It
// connects when the station is there, and reconnects when the connection is lost. NULL: errno is
// EINVAL for an invalid endpoint, EMFILE when descriptors run out, ENOMEM, or else the reason why
// there is no socket. Destroy it with zplan_client_destroy.
//
// When several stations share a database, one serves and another takes over when it fails:
// `endpoint` is then the list of their endpoints, at most ZPLAN_ENDPOINTS_MAX, with a comma between
// two of them and no blanks: "tcp://a:7920,tcp://b:7920". The client has a socket for each, and
// requests are sent to the station that was connected last: a standby keeps its request socket
// closed. Requests wait, up to their timeout, while none is connected. When a connection is lost,
// the requests in flight on it are resent to the station that is connected next, with their first
// deadlines and at most three times, if handling them twice does no harm: PING, admin commands that
// read (list, message, next, history, result, team, why, stats, health, load, whoami, and the
// reading subcommands of station, kind, limit and flow), and submissions with an id (GLOBAL_ID) or
// a `key`. So are all requests that a station rejects because it is giving up its plans, since it
// has done nothing. Others end at once with ZPLAN_ERROR_NO_ANSWER: it is unknown whether they were
// handled. A list takes one more socket and some memory for each endpoint: messages of up to 64 MiB
// are kept for resending, beyond that requests are rejected with ZPLAN_ERROR_MEMORY.
struct zplan_client *zplan_client_new (const char *endpoint);

// As zplan_client_new, with CURVE. The keys are copied. NULL with EINVAL also when `curve` is NULL,
// a key is invalid, the public key does not belong to the secret one, or there is neither one
// server key nor one for each endpoint: the client never connects without encryption.
struct zplan_client *zplan_client_new_curve (const char *endpoint, const struct zplan_curve *curve);

// Destroys the client and sets the pointer to NULL; NULL is allowed. Requests without an answer end
// with ZPLAN_ERROR_CLOSED: their callbacks are called from within this call. Has no effect when it
// is called from a callback of this client.
void zplan_client_destroy (struct zplan_client **client);

// The endpoint that requests are sent to now; "" while none of several is connected, and for NULL.
// It belongs to the client and is valid until the client is destroyed.
const char *zplan_client_endpoint (const struct zplan_client *client);

// How long later requests wait for their answers, in milliseconds; default 5000. A negative value
// counts as 0.
void zplan_client_set_timeout (struct zplan_client *client, int64_t timeout_ms);

// Interrupt a waiting call: while this descriptor (a signalfd, an eventfd, a pipe) is readable, a
// call that has no answer yet ends with ZPLAN_ERROR_NO_ANSWER. The client does not read from it and
// does not close it. A negative value, the default: none.
void zplan_client_set_interrupt (struct zplan_client *client, int fd);

// The reason why the last failed call failed, as text; "" if none has failed. Valid until the
// client's next call.
const char *zplan_client_error (const struct zplan_client *client);

// ---- requests that wait for their answers

// Send a request and wait for its answer. `command` is ZERO_BYTE_COMMAND_...; at most 32 frames of
// 1 MiB each and 4 MiB in all, including the REQUEST_ID by which the client recognises the answer.
// It adds one unless the frames contain one: use the same one whenever a plan is submitted again
// under its id. Callbacks of other requests may be called from within.
//
// ZPLAN_OK: `ret` is filled; its status may be a rejection. Otherwise it is untouched. After
// ZPLAN_ERROR_NO_ANSWER it is unknown whether the station received the request, but it cannot
// receive it any later: unless the station has answered a later request, the client has closed the
// connection, and all requests that wait on it have ended in the same way; with several endpoints,
// requests that are safe to repeat are resent.
int zplan_client_call (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, struct zplan_reply *ret);

// The first frame of this type in a reply, or NULL; its size is stored in `ret_size`, which may be
// NULL. STATUS holds the status word and the reason, GLOBAL_ID the plan's id, JSON the data of an
// admin command.
const void *zplan_reply_frame (const struct zplan_reply *reply, uint8_t type, size_t *ret_size);

// The text of a reply ("-plan error: plan_repet: want ..."), copied to `out` and cut to `size`
// bytes including the NUL; unprintable characters become '?'. Returns `out`.
const char *zplan_reply_words (const struct zplan_reply *reply, char *out, size_t size);

// What the station did with an acknowledged plan, from the reply (proto/plans.md 5.3).
enum zplan_stored {
    ZPLAN_STORED_NEW,
    ZPLAN_STORED_BEFORE, // it already existed; nothing was changed
    ZPLAN_STORED_UPDATED,
    ZPLAN_STORED_REPLACED
};
enum zplan_stored zplan_reply_stored (const struct zplan_reply *reply);

// The first run of a submitted plan, from the reply: the nominal time as Unix seconds; for a plan
// that already existed its next time. 0: the reply has none, because the plan was rejected or is
// closed, or the station is an older one.
int64_t zplan_reply_first_time (const struct zplan_reply *reply);

// Submit a plan. The station has stored it when the reply's status is ZERO_STATUS_PLAN_ID; the
// plan's id is then in the GLOBAL_ID frame. A plan with an id of its own can be submitted again
// when no answer came: the client derives the REQUEST_ID from the id, so the resent message is the
// same bytes. Returns as zplan_client_call; zplan_client_error also has the reason why a plan is
// invalid.
int zplan_client_submit_plan (struct zplan_client *client, struct zplan_plan *plan,
                              struct zplan_reply *ret);

// A plan to submit with a PLAN frame that was made elsewhere.
struct zplan_submission {
    const char *station;              // name of the target
    const char *plan;                 // the PLAN frame: a JSON object
    const char *id;                   // hex digits, or NULL: the station makes one
    const struct zplan_frame *frames; // sent to the target when the plan runs, in this order:
    size_t count;                     // COMMAND or PUB_TITLE, and at most 27 others
};

// Submit a plan whose PLAN frame was made elsewhere; only the station checks it. Returns as
// zplan_client_call.
int zplan_client_submit (struct zplan_client *client, const struct zplan_submission *submission,
                         struct zplan_reply *ret);

// Send an admin command: about plans, their history, targets, or the station itself. `args` are
// `count` strings, at most 8. A plan is named by its id (hex digits) or by its key in Redis
// (plan:msg:STATION:ID); N is a decimal number. "The plan" is its public JSON, without messages;
// its field "revision" changes with every write.
//
//   command  arguments              the JSON frame of the reply, when the status is OK
//   list     [FILTER]               {"plans": [the plan, ...], "next": "id"}
//   message  ID                     the plan with its "messages"
//   pause    ID                     the plan; it is out of the queue until `reset`
//   reset    ID                     the plan; it is in the queue again
//   skip     ID, N                  the plan; its next N occurrences do not run
//   close    ID                     the plan; it has ended, and is kept until `remove`
//   remove   ID                     no JSON; the whole plan is deleted
//   run      ID                     the plan; it runs now, outside its schedule
//   update   ID, CHANGES            the plan; CHANGES: {"revision": as read before, and any field
//                                   of a PLAN frame, or "messages" as in `message`}
//   next     ID or PLAN JSON, [N]   {"next": [Unix seconds, ...], "never": bool}; default N is 10
//   history  [ID or FILTER]         {"runs": [...], "next": "cursor", "first": seq, "last": seq,
//                                   "epoch": "...", "missed": bool}
//   station  "list"                 {"stations": [...]}
//   station  "add", NAME=TYPE@ENDPOINT[,...]; or "remove", NAME
//   stats                           the station's counters
//
// FILTER is a JSON object. For list: after (the `next` of the previous page), limit (1..1000
// plans), station, state, type, title (a pattern). A page may hold fewer plans than limit, or none:
// only a page without `next` is the last one. For history: plan, since (only outcomes with a larger
// seq), epoch (the one that `since` belongs to: if the current one differs, the whole history is
// returned), after, station, limit, newest (true: newest first). `missed` is true when outcomes
// after `since` are gone.
//
// Returns as zplan_client_call; ZPLAN_ERROR_ARGUMENT also when the command or an argument is NULL.
// Rejections are statuses: ZERO_STATUS_NOT_FIND_ID no such plan, ZERO_STATUS_MANAGE_ARG_ERROR_ID a
// wrong argument or a plan in the wrong state, ZERO_STATUS_NET_ERROR_ID the station has lost Redis,
// ZERO_STATUS_NOT_SUPPORT_ID no such command. After ZPLAN_ERROR_NO_ANSWER it is unknown whether the
// command was executed. Repeating `run`, `skip`, `restore history`, `callback test` and `flow
// retry` executes them again; repeating the others is harmless, but may be rejected because they
// were executed before.
int zplan_client_manage (struct zplan_client *client, const char *word, const char *const *args,
                         size_t count, struct zplan_reply *ret);

// Check whether the station serves. Returns as zplan_client_call.
int zplan_client_ping (struct zplan_client *client, struct zplan_reply *ret);

// ---- requests with a callback

// The end of a request: ZPLAN_OK and the reply, or another enum zplan_error and NULL. Called
// exactly once for each accepted request, at the latest by zplan_client_destroy, and only from
// within a call to this client. The callback may send further requests; calls that wait, and
// zplan_client_process, return ZPLAN_ERROR_NESTED in it.
typedef void zplan_reply_fn (void *context, int error, const struct zplan_reply *reply);

// Send a request and return: `fn` (NULL: no callback) is called with `context` when it has ended.
// Everything else is copied. ZPLAN_OK: the request was accepted. ZPLAN_ERROR_AGAIN: 1000 requests
// have no answer yet. Else as zplan_client_call. Answers may arrive in another order than the
// requests. The other three send a plan, a submission and an admin command in the same way.
int zplan_client_send (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, zplan_reply_fn *fn,
                       void *context);
int zplan_client_send_plan (struct zplan_client *client, struct zplan_plan *plan,
                            zplan_reply_fn *fn, void *context);
int zplan_client_send_submission (struct zplan_client *client,
                                  const struct zplan_submission *submission, zplan_reply_fn *fn,
                                  void *context);
int zplan_client_send_word (struct zplan_client *client, const char *word, const char *const *args,
                            size_t count, zplan_reply_fn *fn, void *context);

// A descriptor that is readable (POLLIN, level-triggered) while zplan_client_process has something
// to do: answers that arrived, timeouts that expired. It stays the same as long as the client
// exists, belongs to it, and is only for waiting. -1 for NULL.
int zplan_client_fd (const struct zplan_client *client);

// Process what is pending, call callbacks, and never wait: at most 64 answers per call. The
// descriptor stays readable while there are more.
int zplan_client_process (struct zplan_client *client);

// The number of requests without an answer yet.
size_t zplan_client_in_hand (const struct zplan_client *client);

#ifdef __cplusplus
}
#endif

#endif
