// libzplan: submit plans to a plan proxy station, ask about them, and hear their results.
//
// A client and a subscriber belong to one thread at a time. Text given to these calls is UTF-8 and
// ends with a NUL; what a station sends is bytes: a pointer and a size, without a NUL at the end.
// Destroy every client and subscriber before the process exits: the ZeroMQ context that they share
// waits for them at exit.
#ifndef ZPLAN_H
#define ZPLAN_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_codes.h"
#include "zplan_error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ZPLAN_FRAMES_MAX = 32,    // frames of one message
    ZPLAN_MANAGE_ARGS_MAX = 8 // arguments of one management word
};

// A frame of a message. The bytes are borrowed.
struct zplan_frame {
    uint8_t type; // ZERO_FRAME_...
    const void *data;
    size_t size;
};

// The keys of an encrypted connection (CURVE), each 40 characters of Z85; `zplan keygen` makes a
// pair. A station that wants keys answers nobody whose public key is not in its list; to a client
// such a refusal looks like a station that does not answer.
struct zplan_curve {
    const char *server_key; // public, of the station
    const char *public_key; // our own
    const char *secret_key; // of public_key
};

// ---- requests

struct zplan_client;

// A station's answer. Its bytes belong to the client and last until the client's next call or its
// end.
struct zplan_reply {
    uint8_t status; // ZERO_STATUS_...
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // in the order of the wire
};

// A client of the station whose request socket is at `endpoint` (tcp://HOST:PORT or ipc://PATH). It
// connects when the station is there, and again when the connection is lost. NULL: errno is EINVAL
// for an endpoint that is none, else why there is no socket. Give it back with
// zplan_client_destroy.
struct zplan_client *zplan_client_new (const char *endpoint);

// The same with CURVE. The keys are copied. NULL with EINVAL also when `curve` is NULL, a key is
// none, or the public key is not the secret one's: the client never connects without encryption.
struct zplan_client *zplan_client_new_curve (const char *endpoint, const struct zplan_curve *curve);

// Takes the client away and sets the pointer to NULL; NULL is fine.
void zplan_client_destroy (struct zplan_client **client);

// How long each call waits for its answer, in milliseconds; 5000 unless set. Below 0 counts as 0.
void zplan_client_set_timeout (struct zplan_client *client, int64_t timeout_ms);

// Let a call end before its time: while this descriptor (a signalfd, an eventfd, a pipe) is
// readable, a call that has no answer yet ends with ZPLAN_ERROR_NO_ANSWER. The client does not read
// from it and does not close it. Below 0, as at first: none.
void zplan_client_set_interrupt (struct zplan_client *client, int fd);

// Send a request and wait for its answer. `command` is ZERO_BYTE_COMMAND_...; at most 32 frames,
// among them the REQUEST_ID by which the client knows the answer: it adds one unless the frames
// hold one: give a plan the same one whenever it is submitted again under its id. Answers to other
// requests are thrown away. Returns an enum zplan_error; `ret` is filled when it is
// ZPLAN_OK and untouched otherwise. After ZPLAN_ERROR_NO_ANSWER it is not known whether the station
// got the request; the client has dropped the connection, so it cannot arrive later than that.
int zplan_client_call (struct zplan_client *client, uint8_t command,
                       const struct zplan_frame *frames, size_t count, struct zplan_reply *ret);

// The first frame of this type in a reply, or NULL; its size goes to `ret_size`. STATUS holds the
// status in words and the reason, GLOBAL_ID the plan's id, JSON the data of a management call.
const void *zplan_reply_frame (const struct zplan_reply *reply, uint8_t type, size_t *ret_size);

// A plan to submit.
struct zplan_submission {
    const char *station;              // the target station's name
    const char *plan;                 // the PLAN frame: a JSON object
    const char *id;                   // hex digits, or NULL: the station makes one
    const struct zplan_frame *frames; // what the target gets when the plan runs, in this order:
    size_t count;                     // COMMAND or PUB_TITLE, and at most 27 others
};

// Submit a plan. The station keeps it when the reply's status is ZERO_STATUS_PLAN_ID; the plan's id
// is then in the GLOBAL_ID frame. With an id of one's own a submission can be repeated when no
// answer came: the client makes the REQUEST_ID from the id, so the repetition is the same bytes.
// Returns as zplan_client_call.
int zplan_client_submit (struct zplan_client *client, const struct zplan_submission *submission,
                         struct zplan_reply *ret);

// Say a management word to the station: about its plans, their history, its targets, itself. `args`
// are `count` texts, at most 8. A plan is named by its id (hex digits) or by its key in Redis
// (plan:msg:STATION:ID); N is a decimal number. "The plan" is its public JSON, without messages;
// it has a field "revision", which is another one after every change.
//
//   word     arguments              the JSON frame of the reply, when the status is OK
//   list     [FILTER]               {"plans": [the plan, ...], "next": "id"}
//   message  ID                     the plan with its "messages"
//   pause    ID                     the plan; it is out of the queue until `reset`
//   reset    ID                     the plan; it is in the queue again
//   skip     ID, N                  the plan; its next N occurrences do not run
//   close    ID                     the plan; it has ended, and is kept until `remove`
//   remove   ID                     no JSON; all of the plan is deleted
//   run      ID                     the plan; it runs now, besides its schedule
//   update   ID, CHANGES            the plan; CHANGES: {"revision": as read before, and any field
//                                   of a PLAN frame, or "messages" as in `message`}
//   next     ID or PLAN JSON, [N]   {"next": [Unix seconds, ...], "never": bool}; N is 10 by itself
//   history  [ID or FILTER]         {"runs": [...], "next": "cursor", "first": seq, "last": seq,
//                                   "epoch": "...", "missed": bool}
//   station  "list"                 {"stations": [...]}
//   station  "add", NAME=TYPE@ENDPOINT[,...]; or "remove", NAME
//   stats                           the station's counters
//
// FILTER is a JSON object. Of list: after (the `next` of the page before), limit (1..1000, plans at
// most), station, state, type, title (a pattern). A page may hold fewer plans than that, or none:
// only a page without `next` is the last one. Of history: plan, since (only outcomes with a larger
// seq), epoch (the one that `since` belongs to: when it is another one now, all that is kept is
// given), after, station, limit, newest (true: the newest first). `missed` is true when outcomes
// after `since` are gone.
//
// Returns as zplan_client_call; ZPLAN_ERROR_ARGUMENT also when the word or an argument is NULL.
// Refusals come as a status: ZERO_STATUS_NOT_FIND_ID no such plan, ZERO_STATUS_MANAGE_ARG_ERROR_ID
// a wrong argument or a plan in the wrong state, ZERO_STATUS_NET_ERROR_ID the station's Redis is
// away, ZERO_STATUS_NOT_SUPPORT_ID no such word. After ZPLAN_ERROR_NO_ANSWER it is not known
// whether it was done. `run` and `skip` said again are done again; the others do no harm, but may
// be refused because they were done.
int zplan_client_manage (struct zplan_client *client, const char *word, const char *const *args,
                         size_t count, struct zplan_reply *ret);

// Ask whether the station serves. Returns as zplan_client_call.
int zplan_client_ping (struct zplan_client *client, struct zplan_reply *ret);

// ---- results

struct zplan_subscriber;

// The result of a run, as the station published it. Its bytes belong to the subscriber and last
// until its next zplan_subscriber_recv or its end.
struct zplan_result {
    const void *title; // the plan's description
    size_t title_size;
    uint8_t status; // ZERO_STATUS_..., of the run
    const void *id; // the plan's id, hex digits
    size_t id_size;
    const void *plan; // JSON: the plan after the run, without its messages
    size_t plan_size;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // what the target sent back, in its order
};

// Subscribe to the results that a station publishes at `endpoint`, of the plans whose title starts
// with these bytes; "" is all. Results published before the connection stands are not heard. NULL
// and errno as zplan_client_new. Give it back with zplan_subscriber_destroy.
struct zplan_subscriber *zplan_subscriber_new (const char *endpoint, const char *title_prefix);

// The same with CURVE, as zplan_client_new_curve; `server_key` is that of the station.
struct zplan_subscriber *zplan_subscriber_new_curve (const char *endpoint, const char *title_prefix,
                                                     const struct zplan_curve *curve);

// Takes the subscriber away and sets the pointer to NULL; NULL is fine.
void zplan_subscriber_destroy (struct zplan_subscriber **subscriber);

// Wait for the next result, at most `timeout_ms` milliseconds; 0 does not wait, below 0 waits for
// ever. What is no result is passed over. ZPLAN_OK and `ret` filled; or ZPLAN_ERROR_NO_ANSWER, also
// when a signal was caught, and `ret` untouched.
int zplan_subscriber_recv (struct zplan_subscriber *subscriber, int64_t timeout_ms,
                           struct zplan_result *ret);

// The ZeroMQ socket, to wait for it together with others (zmq_poll for ZMQ_POLLIN, then receive
// with time-out 0). It belongs to the subscriber; do nothing else with it.
void *zplan_subscriber_socket (struct zplan_subscriber *subscriber);

#ifdef __cplusplus
}
#endif

#endif
