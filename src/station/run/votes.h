// The votes of a run in memory. The rules are in engine/ballot.h.
#pragma once

#include "runs.h"

// The ballot of the run, created on first use.
struct ballot *votes_ballot (struct active_run *active);

// The role of a vote station's answer, before it is counted. `named`: the answer names its voter.
enum poll votes_event (const struct message *message, bool named);

// Count the answer. False: it cannot be counted and is ignored.
bool votes_count (struct active_run *active, const struct message *message, struct answer *answer,
                  struct span voter);

// Format the tally as the reason of a result.
void votes_reason (const struct active_run *active, const struct vote_tally *tally, char *out,
                   size_t size);

// Load the votes that were cast before this station had the run; `work` is their reply from Redis.
void votes_load (struct active_run *active, const redisReply *work);
