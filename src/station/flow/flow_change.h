// Changes of definitions, by commands: one at a time, as each is judged by all flows that there
// are. A definition is parsed, judged and written, and is in use when Redis has acknowledged that.
#pragma once

#include "flow_book.h"
#include "request.h"

enum flow_change_kind {
    FLOW_CHANGE_CHECK, // what a put would answer
    FLOW_CHANGE_PUT,
    FLOW_CHANGE_USE,
    FLOW_CHANGE_REMOVE
};

enum { FLOW_VERSION_ANY = -1 };

struct flow_wanted {
    enum flow_change_kind kind;
    struct span name; // of use and remove
    struct span text; // of check and put
    int version;      // of use; of put the one that must be the last, 0 = there must be none
};

void flow_change_start (struct station *self);

// Make the change and reply. Everything is copied.
void flow_change_ask (struct station *self, struct request *request,
                      const struct flow_wanted *wanted);

// Those that wait are refused. After flow_book_quit.
void flow_change_quit (struct station *self);
