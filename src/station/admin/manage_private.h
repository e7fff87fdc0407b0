// The admin commands, each in the file of its name, and functions that they share.
#pragma once

#include "inquiry.h"

// Add the members owner (this station), owner_since and standbys to `object`.
void manage_add_owner_members (const struct station *self, json_t *object);

// Check the frames that the plan sends by the rules of a submission. 0, or the error with its
// reason.
int manage_check_messages (struct station *self, const char *user, const struct plan *plan,
                           struct reason *reason);

// Resend a callback, which must be named by its id, at once.
manage_fn manage_redeliver;

// pause, reset, close, skip, run, update, done: request->number is the enum manage_command.
manage_fn manage_change;

manage_fn manage_message, manage_list, manage_history, manage_result, manage_forget, manage_restore,
    manage_next, manage_station, manage_stats, manage_health, manage_load, manage_callback,
    manage_cancel, manage_kind, manage_limit, manage_why, manage_take, manage_alive, manage_report,
    manage_team;
