// The votes of a run that is in memory. The rules are those of engine/ballot.h.
#pragma once

#include "runs.h"

// Its ballot, made when there is none yet.
struct ballot *votes_ballot (struct active_run *active);

// The role of a vote station's answer, before it is counted. `named`: it names its voter.
enum poll votes_event (const struct message *message, bool named);

// Count the answer. False: it cannot be counted, and nothing comes of it.
bool votes_count (struct active_run *active, const struct message *message, struct answer *answer,
                  struct span voter);

// The numbers, as the reason of a result.
void votes_reason (const struct active_run *active, const struct vote_tally *tally, char *out,
                   size_t size);

// Take in those that were cast before this station had the run; `work` as Redis has it.
void votes_recall (struct active_run *active, const redisReply *work);
