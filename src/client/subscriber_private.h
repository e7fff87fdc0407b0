// Declarations shared by the files of the subscriber.
#pragma once

#include "zplan_client.h"
#include "zplan_subscriber.h"

#include <jansson.h>

#include "gap.h"
#include "listener.h"

// The phase of the subscriber.
enum subscriber_phase {
    PHASE_LISTEN, // receives broadcasts
    PHASE_HEAD,   // has requested the station's last seq
    PHASE_PAGE,   // has requested a page of the history
    PHASE_RETURN, // returns the runs of a page
    PHASE_RETRY   // waits before it retries
};

// Why the history is read.
enum fill_purpose {
    FOR_CHECK,   // the station has published more than was received
    FOR_WAITING, // to return what was missed before the result that waits
    FOR_RESUME   // to continue where an earlier subscription ended
};

// Reading the history to fill a gap: the results after gap.last and before the result that waits.
struct gap_fill {
    enum fill_purpose purpose;
    int64_t before;   // seq of the result that waits; INT64_MAX: none
    int64_t until_us; // monotonic; while a result waits, no retry after this time
    bool opened;      // the first page was read
    int64_t last;     // the station's newest seq
    char epoch[EPOCH_SIZE];
    char after[64]; // cursor of the page to request; "" = the first
    json_t *page;   // being returned; owned
    size_t next;    // index of the next run in `page`
};

// Recovery of missed results from the history.
struct recovery {
    struct zplan_client *client; // for the history; NULL: no recovery
    zplan_notice_fn *notice;     // may be NULL
    void *context;               // passed to `notice`
    enum subscriber_phase phase;
    struct gap gap;
    struct gap_fill fill;
    bool result_waits;    // a result was received that waits for what was missed before it
    bool answered;        // `history` was answered at least once, so waiting for it is worthwhile
    bool notified;        // the caller was notified that the history does not answer
    bool behind;          // the last check found results that were not received
    int64_t check_due_us; // monotonic: time of the next check
    int64_t check_interval_us; // interval from the last check to `check_due_us`
    int64_t next_attempt_us;   // monotonic: when to retry
    uint64_t turns;            // number of connections of `client` when last checked

    // How the request in flight ended.
    bool ended;
    int error;
    json_t *answer; // owned; NULL: the reason is in `words`
    char words[ZPLAN_NOTICE_WORDS_MAX];
};

struct zplan_subscriber {
    struct listener listener;   // its packet is the last result, or the one that waits
    char *prefix;               // wanted titles begin with this
    bool calling;               // a notice is being delivered
    struct zplan_result result; // the result in the listener's packet, from which it borrows
    struct gap_mark mark;       // seq, exec_id and epoch of `result`; borrows from `mark_epoch`
    char mark_epoch[EPOCH_SIZE];
    char epoch[EPOCH_SIZE]; // epoch of the last returned result
    uint8_t *bytes;         // title and run of a result from the history; owned
    struct recovery recovery;
};

// Whether results with this title are wanted: it begins with `prefix`.
bool subscriber_wants (const struct zplan_subscriber *self, struct span title);

// Receive one result into `result` and `mark`, skipping at most `*turns` other messages. False:
// there is no result, or the turns are used up.
bool subscriber_receive (struct zplan_subscriber *self, int *turns);

// Return the received result to the caller in `ret`.
void subscriber_return_result (struct zplan_subscriber *self, struct zplan_result *ret);

// Make the descriptor readable if something is left to do, else not readable.
void subscriber_update (struct zplan_subscriber *self);

// The next result, without waiting. False: there is none now. Needs a recovery.
bool recovery_next (struct zplan_subscriber *self, struct zplan_result *ret);

// The monotonic time of the next action. `*ret_listens`: whether the socket should be read now.
int64_t recovery_wake_us (const struct recovery *self, bool *ret_listens);

void recovery_end (struct recovery *self);

// Store the reason why a request failed.
void recovery_set_reason (struct recovery *self, struct span words);

// Request only the station's last seq: PHASE_HEAD.
void recovery_request_head (struct recovery *self);

// Request the page that self->fill describes: PHASE_PAGE.
void recovery_request_page (struct recovery *self);

// The fields in each page that describe the whole history.
struct history_head {
    int64_t first, last;
    const char *epoch; // borrowed from the page
    bool missed;
};

// Take the requested page; release it with json_decref. False: there is none, and the reason is in
// `words`.
bool recovery_take_page (struct recovery *self, json_t **ret_page, struct history_head *ret);

// Convert a run of the history to a result, except seq, exec_id and epoch. Title and text are owned
// by the subscriber. False: there is no memory.
bool recovery_read_run (struct zplan_subscriber *self, const json_t *run, struct zplan_result *ret);
