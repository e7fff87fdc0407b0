#include "votes.h"

#include <stdio.h>

#include "codes.h"
#include "dialect.h"

enum { VOTES_BYTES_MAX = 4 << 20 }; // all votes of a run together

struct ballot *votes_ballot (struct active_run *active)
{
    if (!active->ballot)
        active->ballot = ballot_new ();
    return active->ballot;
}

enum poll votes_event (const struct message *message, bool named)
{
    switch (message->desc.code) {
    case ZERO_STATUS_VOTE_START_ID:
        return POLL_OPENED;
    case ZERO_STATUS_VOTE_END_ID:
    case ZERO_STATUS_VOTE_CLOSED_ID:
        return POLL_CLOSED;
    case ZERO_STATUS_RUNING_ID:
    case ZERO_STATUS_WAITING_ID:
    case ZERO_STATUS_VOTE_SENDED_ID:
        return POLL_NONE; // a heartbeat, from any sender
    default:
        return named ? POLL_VOTE : POLL_NONE;
    }
}

bool votes_count (struct active_run *active, const struct message *message, struct answer *answer,
                  struct span voter)
{
    struct ballot *ballot = votes_ballot (active);
    enum poll event = answer->tally.event;
    bool fits = true;
    if (event == POLL_OPENED)
        ballot_open (ballot, message_frame (message, ZERO_FRAME_JSON, NULL));
    else if (event == POLL_VOTE)
        fits =
            ballot->bytes <= VOTES_BYTES_MAX &&
            ballot_cast (ballot, voter, ballot_in_favour (answer->status), message_size (message));
    answer->tally = ballot_tally (ballot, event);
    answer->tally.adopted = active->run.exec_id < (uint64_t)active->station->owned_us;
    ballot->stored = true;
    return fits;
}

void votes_reason (const struct active_run *active, const struct vote_tally *tally, char *out,
                   size_t size)
{
    size_t needed = vote_rule_needed (&active->plan->vote, tally->voters);
    const char *more = tally->event == POLL_TIMEOUT ? "; its deadline has passed"
                       : tally->event == POLL_CLOSED && tally->adopted
                           ? "; votes sent to the owner before may be lost"
                           : "";
    snprintf (out, size, "vote: %zu of %zu in favour, %zu against, %zu wanted%s", tally->in_favour,
              tally->voters, tally->voted - tally->in_favour, needed, more);
}

void votes_load (struct active_run *active, const redisReply *work)
{
    const struct target *target = station_target (active->station, span_text (active->key_station));
    enum dialect dialect = target ? target_settings (target)->dialect : DIALECT_ZERONET;
    if (active->plan->poll != active->run.exec_id)
        return; // the votes are of an earlier run
    for (size_t i = 0; work && i + 1 < work->elements; i += 2) {
        const redisReply *name = work->element[i], *text = work->element[i + 1];
        json_t *frames = json_loadb (text->str, text->len, 0, NULL);
        ballot_restore (votes_ballot (active), span_of (name->str, name->len), frames, dialect);
        json_decref (frames);
    }
}
