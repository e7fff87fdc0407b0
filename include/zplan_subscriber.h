// Receive the results that a station publishes.
//
// ---- example: results
//     #include <stdio.h>
//     #include <zplan.h>
//
//     static void notice (void *context, const struct zplan_notice *notice)
//     {
//         (void)context;
//         if (notice->kind == ZPLAN_NOTICE_GONE)
//             fprintf (stderr, "results after %lld are lost\n", (long long)notice->after);
//     }
//
//     int main (int argc, char **argv)
//     {
//         const char *publish = argc > 1 ? argv[1] : "tcp://127.0.0.1:7921";
//         struct zplan_recovery recovery = {
//             .endpoint = argc > 2 ? argv[2] : "tcp://127.0.0.1:7920",
//             .since = -1, // or, with its epoch, the seq of the last result that was processed
//             .fn = notice};
//         struct zplan_subscriber *subscriber = zplan_subscriber_new (publish, "");
//         if (!subscriber || zplan_subscriber_recover (subscriber, &recovery)) {
//             perror (publish);
//             return 1;
//         }
//         struct zplan_result result;
//         if (zplan_subscriber_recv (subscriber, 60000, &result) == ZPLAN_OK)
//             printf ("plan %.*s: status %d\n", (int)result.id_size, (const char *)result.id,
//                     result.status);
//         zplan_subscriber_destroy (&subscriber);
//         return 0;
//     }
// ---- end
#ifndef ZPLAN_SUBSCRIBER_H
#define ZPLAN_SUBSCRIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

struct zplan_subscriber;

// The result of a run. Its bytes belong to the subscriber and are valid until its next
// zplan_subscriber_recv or its end. A published result has the plan and the frames; a result from
// the history has the run instead.
struct zplan_result {
    const void *title; // the plan's description
    size_t title_size;
    uint8_t status; // ZERO_STATUS_... of the run
    const void *id; // the plan's id, hex digits
    size_t id_size;
    const void *plan; // JSON: the plan after the run, without its messages; NULL from the history
    size_t plan_size;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // what the target returned, in its order
    bool from_history;                           // its broadcast was missed
    const void *run; // JSON: the run, as in `history` with `output`; else NULL
    size_t run_size;
    int64_t exec_id;   // identifies the run; 0 = not known
    int64_t seq;       // number of the result at the station; 0 = none
    const char *epoch; // the epoch that `seq` belongs to; "" = not known
};

// Subscribe to the results that a station publishes at `endpoint`, of the plans whose title starts
// with these bytes; "" is all. Results that are published before the connection is made, or while
// it is lost, are missed unless zplan_subscriber_recover is called. NULL and errno as
// zplan_client_new. Destroy it with zplan_subscriber_destroy.
//
// `endpoint` may be a list of the publish endpoints of several stations on one database, as in
// zplan_client_new: the subscriber is connected to all of them, since standbys bind that socket too
// but publish nothing; `seq` and `epoch` continue after a takeover.
struct zplan_subscriber *zplan_subscriber_new (const char *endpoint, const char *title_prefix);

// As zplan_subscriber_new, with CURVE: see zplan_client_new_curve.
struct zplan_subscriber *zplan_subscriber_new_curve (const char *endpoint, const char *title_prefix,
                                                     const struct zplan_curve *curve);

// Destroys the subscriber and sets the pointer to NULL; NULL is allowed. Has no effect when it is
// called from a notice of this subscriber.
void zplan_subscriber_destroy (struct zplan_subscriber **subscriber);

// Wait for the next result, at most `timeout_ms` milliseconds; 0 does not wait, a negative value
// waits without limit. Messages that are not results are ignored. ZPLAN_OK and `ret` filled; or
// ZPLAN_ERROR_NO_ANSWER, also when a signal was caught, and `ret` untouched.
int zplan_subscriber_recv (struct zplan_subscriber *subscriber, int64_t timeout_ms,
                           struct zplan_result *ret);

// A descriptor that is readable (POLLIN, level-triggered) while there is something to do. Your
// event loop then calls zplan_subscriber_recv with timeout 0: until it returns
// ZPLAN_ERROR_NO_ANSWER, or once, as the descriptor stays readable while there is more. It stays
// the same as long as the subscriber exists, belongs to it, and is only for waiting. -1 for NULL.
int zplan_subscriber_fd (const struct zplan_subscriber *subscriber);

// ---- recovery of missed results

// What a subscriber with recovery reports besides its results.
enum zplan_notice_kind {
    ZPLAN_NOTICE_GONE,   // results after `after` are lost permanently; `before` is the first kept
    ZPLAN_NOTICE_MISSED, // the station did not answer: results between these two may be missing
    ZPLAN_NOTICE_ANEW,   // the station has restarted its numbers: earlier results are unknown
    ZPLAN_NOTICE_BACK,   // the station lost published results: `after` is followed by `before`
    ZPLAN_NOTICE_AHEAD,  // the station has no result `after` yet; its last is `before`
    ZPLAN_NOTICE_SILENT  // the station does not return what was missed; the request is repeated
};

enum { ZPLAN_NOTICE_WORDS_MAX = 512 };

struct zplan_notice {
    enum zplan_notice_kind kind;
    int64_t after, before; // seq
    int error;             // SILENT: how the request ended; ZPLAN_OK: it was rejected
    bool at_start;         // SILENT: the request was for the results after `since`
    const char *words;     // SILENT: the station's reason, bytes that end with a NUL; else ""
};

// Called from within zplan_subscriber_recv. Calling zplan_subscriber_recv from the callback returns
// ZPLAN_ERROR_NESTED.
typedef void zplan_notice_fn (void *context, const struct zplan_notice *notice);

struct zplan_recovery {
    const char *endpoint; // the station's request socket, or a list as in zplan_client_new
    int64_t since;        // seq of the last processed result; -1: start now
    const char *epoch;    // the epoch of `since`; NULL or "": not known
    const char *title;    // only results whose titles start with this; NULL: as subscribed
    int64_t timeout_ms;   // timeout of each request; 0: 5000
    zplan_notice_fn *fn;  // NULL: no notices
    void *context;        // passed to `fn`
};

// Miss nothing from now on, or since an earlier result: results that the station published and that
// were missed are requested at its request socket, with the keys of the subscriber, and returned in
// their place, in the order of `seq`, marked as from the history. A program that stores `seq` and
// `epoch` of the last result it has processed continues with them after a restart. A result may be
// returned twice after a failure of the station; both have the same exec_id. With several endpoints
// the history is also requested after a takeover: the last results of the previous station may be
// missing, and it can take a while until a later result reveals that.
//
// Call it once, before the first zplan_subscriber_recv. Returns an enum zplan_error; after an error
// nothing has changed, and there is no recovery.
int zplan_subscriber_recover (struct zplan_subscriber *subscriber,
                              const struct zplan_recovery *recovery);

#ifdef __cplusplus
}
#endif

#endif
