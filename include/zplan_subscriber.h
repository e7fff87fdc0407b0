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

#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

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
