// The record of changes and their users: a file of NDJSON lines that is only appended to. Each
// request that changes something, signs in or signs out has two lines: one before its command is
// sent, and one after the answer. Wrong tokens have one line per second, with their number.
#pragma once

#include "exchange.h"

struct audit;

// Open the audit file for appending; NULL with a reason. audit_close sets the pointer to NULL.
struct audit *audit_open (const char *path, struct reason *reason);
void audit_close (struct audit **self);

// Write the line before a change or, once the exchange has a status, the one after it. False: it
// cannot be written, so nothing may be changed. Also true if `self` is NULL: there is no audit.
bool audit_exchange (struct audit *self, const struct exchange *exchange);

// Record a token that is invalid or has expired.
void audit_wrong_token (struct audit *self, const struct exchange *exchange);

// Record the outcome for one plan of a bulk job or an import.
void audit_each (struct audit *self, const char *user, const char *action, const char *id,
                 const char *outcome);
