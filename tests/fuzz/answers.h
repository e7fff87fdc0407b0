// A link to a Redis that answers what the input says: in any form, late, in parts, or not at all.
// Only about the owner of the database it tells no lie that would show that somebody else uses the
// station's token.
#pragma once

#include "fuzz.h"
#include "link.h"

// The link that the next link_new gives. It is down.
void answers_begin (struct feed *feed);

// What Redis may say in the place of a text, beside what the input says.
void answers_word (const char *text);

void answers_connect (void);
void answers_lose (void); // the connection; what was asked once gets no answer

// The answer of the next question, if there is one.
bool answers_next (void);

// How often this command was called by itself.
size_t answers_asked (const char *command);

// What has been given up since is closed.
void answers_settle (void);

// Something befalls the database: another owner, an older state, nothing is left; `how` says what.
void answers_befall (uint8_t how);

// All clocks go on.
void answers_pass (int64_t us);
