// How many callbacks are kept, of each source: receivers that are away must not fill Redis. Where
// they are too many, plans of that source that want a callback wait: nothing is lost, and no other
// source suffers. Source: proto 7.12.
#pragma once

#include "station_state.h"

struct callback_book;

// The plans are this station's: read what is kept, unless that is known still.
void callback_book_load (struct station *self);
void callback_book_stop (struct station *self);

// A callback is placed, or goes, in the batch of this turn.
void callback_book_placed (struct station *self, const struct plan *callback);
void callback_book_gone (struct station *self, const struct plan *callback);

// Whether plans of this source that want a callback have to wait.
bool callback_book_full (const struct station *self, struct span source);

// A source of which that is so, and how many callbacks of it there are. False: there is none.
bool callback_book_full_source (const struct station *self, char ret_name[STATION_NAME_MAX + 1],
                                int64_t *ret_count);
