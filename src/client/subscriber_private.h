// What the files of the subscriber share.
#pragma once

#include "zplan_client.h"
#include "zplan_subscriber.h"

#include <jansson.h>

#include "gap.h"
#include "listener.h"

// The phase of the subscriber.
enum subscriber_phase {
    PHASE_LISTEN, // takes what comes
    PHASE_HEAD,   // has asked how far the station is
    PHASE_PAGE,   // has asked for a page of the history
    PHASE_RETURN, // returns the runs of a page
    PHASE_REST    // waits before it asks again
};

// Why the history is read.
enum purpose {
    FOR_LOOK,    // the station has published more than came
    FOR_WAITING, // what was missed before the result that waits
    FOR_BEGIN    // to go on where an earlier subscription ended
};

// A request to the history, after gap.last and before the result that waits.
struct filling {
    enum purpose purpose;
    int64_t before;   // its seq; INT64_MAX: none waits
    int64_t until_us; // monotonic; with a result that waits: not tried again after it
    bool opened;      // the first page was seen
    int64_t last;     // of the station
    char epoch[EPOCH_SIZE];
    char after[64]; // the page to ask for; "" = the first
    json_t *page;   // being returned; owned
    size_t next;    // of its runs
};

// The part that misses nothing.
struct recovery {
    struct zplan_client *client; // for the history; NULL: no recovery
    zplan_notice_fn *notice;     // may be NULL
    void *context;               // of `notice`
    enum subscriber_phase phase;
    struct gap gap;
    struct filling filling;
    bool result_waits;   // a result was received that waits for what was missed before it
    bool answered;       // `history` has been answered: it is worth to wait for it
    bool notified;       // of a history that does not answer
    bool behind;         // the last look found more than had come
    int64_t look_us;     // monotonic: when to look next
    int64_t look_gap_us; // from the last look to it
    int64_t rest_us;     // monotonic: when to ask again
    uint64_t turns;      // client_turns, as it was seen last

    // How the request in flight ended.
    bool ended;
    int error;
    json_t *answer; // owned; NULL: `words` says why not
    char words[ZPLAN_NOTICE_WORDS_MAX];
};

struct zplan_subscriber {
    struct listener listener;   // its packet is the last result, or the one that waits
    char *prefix;               // of the titles wanted
    bool calling;               // a notice is being delivered
    struct zplan_result result; // of it; borrows from it
    struct gap_mark mark;       // of it; borrows from `mark_epoch`
    char mark_epoch[EPOCH_SIZE];
    char epoch[EPOCH_SIZE]; // of the result that was given out
    uint8_t *bytes;         // its title and run, of one from the history; owned
    struct recovery recovery;
};

// Whether results with this title are wanted.
bool subscriber_wants (const struct zplan_subscriber *self, struct span title);

// What a plan or run, which may be NULL, says of its broadcast. The epoch is copied to `epoch`.
struct gap_mark subscriber_mark (const json_t *object, char epoch[EPOCH_SIZE]);

// Receive one result into `result` and `mark`, passing over at most `*turns` messages that are
// none. False: there is none, or the turns are used up.
bool subscriber_receive (struct zplan_subscriber *self, int *turns);

// Give out the result that was received.
void subscriber_give (struct zplan_subscriber *self, struct zplan_result *ret);

// Update the descriptor by what is left to do.
void subscriber_update (struct zplan_subscriber *self);

// The next result, without waiting. False: there is none now. Needs a recovery.
bool recovery_next (struct zplan_subscriber *self, struct zplan_result *ret);

// When to look again; and whether the socket is to be read now.
int64_t recovery_wake_us (const struct recovery *self, bool *ret_listens);

void recovery_end (struct recovery *self);

// Why a question failed.
void recovery_set_words (struct recovery *self, struct span words);

// Ask for no more than where the station is: PHASE_HEAD.
void recovery_ask_head (struct recovery *self);

// Ask for the page of self->filling: PHASE_PAGE.
void recovery_ask_page (struct recovery *self);

// What every page of the history says of the whole.
struct history_head {
    int64_t first, last;
    const char *epoch; // borrowed from the page
    bool missed;
};

// The page that was asked for, to be given back. False: there is none, and the words say why.
bool recovery_take_page (struct recovery *self, json_t **ret_page, struct history_head *ret);

// A run of the history as a result without its number. Title and text are owned by the subscriber.
// False: there is no memory.
bool recovery_read_run (struct zplan_subscriber *self, const json_t *run, struct zplan_result *ret);
