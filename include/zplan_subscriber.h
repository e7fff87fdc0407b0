// Results as a station publishes them.
//
// ---- example: results
//     #include <stdio.h>
//     #include <zplan.h>
//
//     int main (int argc, char **argv)
//     {
//         const char *endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:7921";
//         struct zplan_subscriber *subscriber = zplan_subscriber_new (endpoint, "");
//         struct zplan_result result;
//         if (!subscriber) {
//             perror (endpoint);
//             return 1;
//         }
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

// The result of a run. Its bytes belong to the subscriber and last until its next
// zplan_subscriber_recv or its end. One that was published has the plan and the frames; one that
// the history told has the run in their place.
struct zplan_result {
    const void *title; // the plan's description
    size_t title_size;
    uint8_t status; // ZERO_STATUS_..., of the run
    const void *id; // the plan's id, hex digits
    size_t id_size;
    const void *plan; // JSON: the plan after the run, without its messages; NULL from the history
    size_t plan_size;
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // what the target sent back, in its order
    bool from_history;                           // it was published, but did not come
    const void *run;                             // JSON: the run, as `history` tells it; else NULL
    size_t run_size;
    int64_t exec_id;   // of the run; 0 = not known
    int64_t seq;       // its number among the results of the station; 0 = it has none
    const char *epoch; // what `seq` belongs to; "" = not known
};

// Subscribe to the results that a station publishes at `endpoint`, of the plans whose title starts
// with these bytes; "" is all. Results published before the connection stands are not heard, nor is
// what comes while the connection is away, unless zplan_subscriber_recover is called. NULL and
// errno as zplan_client_new. Give it back with zplan_subscriber_destroy.
struct zplan_subscriber *zplan_subscriber_new (const char *endpoint, const char *title_prefix);

// The same with CURVE, as zplan_client_new_curve; `server_key` is that of the station.
struct zplan_subscriber *zplan_subscriber_new_curve (const char *endpoint, const char *title_prefix,
                                                     const struct zplan_curve *curve);

// Takes the subscriber away and sets the pointer to NULL; NULL is fine. Does nothing when it is
// called from a notice of this subscriber.
void zplan_subscriber_destroy (struct zplan_subscriber **subscriber);

// Wait for the next result, at most `timeout_ms` milliseconds; 0 does not wait, below 0 waits for
// ever. What is no result is passed over. ZPLAN_OK and `ret` filled; or ZPLAN_ERROR_NO_ANSWER, also
// when a signal was caught, and `ret` untouched.
int zplan_subscriber_recv (struct zplan_subscriber *subscriber, int64_t timeout_ms,
                           struct zplan_result *ret);

// A descriptor that is readable (POLLIN, level-triggered) while there is something to do. One's own
// loop then calls zplan_subscriber_recv with time-out 0: until it returns ZPLAN_ERROR_NO_ANSWER, or
// once, as the descriptor stays readable while there is more. It is the same for the subscriber's
// life, belongs to it, and is for waiting only. -1 for NULL.
int zplan_subscriber_fd (const struct zplan_subscriber *subscriber);

// ---- missing nothing

// What a subscriber that misses nothing has to say besides its results.
enum zplan_notice_kind {
    ZPLAN_NOTICE_GONE,   // what came behind `after` is gone for good; `before` is the first kept
    ZPLAN_NOTICE_MISSED, // what is between these two is not known: the station does not answer
    ZPLAN_NOTICE_ANEW,   // the station counts anew: what came before that is not known
    ZPLAN_NOTICE_BACK,   // the station lost results that were told: behind `after` comes `before`
    ZPLAN_NOTICE_AHEAD,  // there is no result `after` yet: the last one is `before`
    ZPLAN_NOTICE_SILENT  // the station does not tell what was missed; it is asked again
};

enum { ZPLAN_NOTICE_WORDS_MAX = 512 };

struct zplan_notice {
    enum zplan_notice_kind kind;
    int64_t after, before; // seq
    int error;             // SILENT: how the question ended; ZPLAN_OK: it was refused
    bool at_start;         // SILENT: the question was what came since the result to begin behind
    const char *words;     // SILENT: why, bytes of the station's before a NUL; else ""
};

// Called from within zplan_subscriber_recv, which returns ZPLAN_ERROR_NESTED to it.
typedef void zplan_notice_fn (void *context, const struct zplan_notice *notice);

struct zplan_recovery {
    const char *endpoint; // the station's request socket
    int64_t since;        // seq of the last result that was dealt with; -1: begin now
    const char *epoch;    // of it; NULL or "": not known
    const char *title;    // only titles that start so are given; NULL: as was subscribed to
    int64_t timeout_ms;   // of each question; 0: 5000
    zplan_notice_fn *fn;  // NULL: nobody wants to know
    void *context;        // of `fn`
};

// Miss nothing from now on, or since an earlier result: what the station has published and what did
// not come is asked for at its request socket, with the keys of the subscriber, and given in its
// place, in the order of `seq`, marked as from the history. A program that keeps `seq` and `epoch`
// of the last result it has dealt with goes on with them after a restart. A result may come twice
// where the station was at fault; its exec_id tells.
//
// Call it once, before the first zplan_subscriber_recv. Returns an enum zplan_error; after one
// without recovery nothing has changed.
int zplan_subscriber_recover (struct zplan_subscriber *subscriber,
                              const struct zplan_recovery *recovery);

#ifdef __cplusplus
}
#endif

#endif
