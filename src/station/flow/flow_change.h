// Changes of definitions by commands, one at a time, as each is checked against all existing flows.
// A definition is parsed, checked and written; it takes effect when Redis has acknowledged it.
#pragma once

#include "flow_book.h"
#include "request.h"

enum flow_change_kind {
    FLOW_CHANGE_CHECK, // dry run: replies as a put would, and changes nothing
    FLOW_CHANGE_PUT,
    FLOW_CHANGE_USE,
    FLOW_CHANGE_REMOVE
};

enum { FLOW_VERSION_ANY = -1 };

// Prepare the queue of changes. Call it after flow_book_start.
void flow_change_start (struct station *self);

// Queue a change; the request is answered when the change is done. `subject`: the name of the flow
// for use and remove, the text of the definition for check and put; it is copied. `version`: the
// one to use; put: the expected last version, 0: the flow must be new.
void flow_change_ask (struct station *self, struct request *request, enum flow_change_kind kind,
                      struct span subject, int version);

// Reject all queued changes that have not begun. Call this after flow_book_quit.
void flow_change_quit (struct station *self);
