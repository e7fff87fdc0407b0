#include "gap.h"

#include <stdio.h>
#include <string.h>

static const char *epoch_or_empty (const char *epoch)
{
    return epoch ? epoch : "";
}

// Whether both epochs are known and differ.
static bool epochs_differ (const char *mine, const char *theirs)
{
    return *mine && *theirs && strncmp (mine, theirs, EPOCH_SIZE - 1) != 0;
}

bool gap_epoch_differs (const struct gap *self, const char *epoch)
{
    return epochs_differ (self->epoch, epoch_or_empty (epoch));
}

bool gap_is_behind (const struct gap *self, int64_t last, const char *epoch)
{
    return gap_epoch_differs (self, epoch) || last > self->last;
}

bool gap_is_missed (const struct gap *self, int64_t seq, int64_t before)
{
    return seq > self->last && seq < before;
}

// -- classification

static struct gap_seen *seen_entry (const struct gap *self, int64_t seq)
{
    return &self->seen[seq % GAP_SEEN_MAX];
}

// Whether this run with this number was delivered before, from another connection or the history.
static bool was_delivered (const struct gap *self, const struct gap_mark *mark)
{
    const struct gap_seen *seen = self->seen ? seen_entry (self, mark->seq) : NULL;
    return seen && seen->seq == mark->seq && seen->exec_id == mark->exec_id;
}

// Classify a result whose number is not larger than `last`.
static enum gap_sort classify_earlier (const struct gap *self, const struct gap_mark *mark)
{
    if (was_delivered (self, mark))
        return GAP_DUPLICATE;
    if (self->fresh)
        return GAP_NEXT;
    if (mark->seq < self->last)
        return self->from_history && mark->seq >= self->from_history ? GAP_DUPLICATE : GAP_REWOUND;
    bool same = mark->exec_id == 0 || self->exec_id == 0 || mark->exec_id == self->exec_id;
    return same ? GAP_DUPLICATE : GAP_REWOUND;
}

enum gap_sort gap_sort (const struct gap *self, const struct gap_mark *mark)
{
    if (mark->seq <= 0)
        return GAP_STRAY;
    if (!self->known)
        return GAP_NEXT;
    if (gap_epoch_differs (self, mark->epoch)) {
        bool late = *self->former && !epochs_differ (self->former, epoch_or_empty (mark->epoch));
        return late ? GAP_STRAY : GAP_RESTARTED;
    }
    if (mark->seq <= self->last)
        return classify_earlier (self, mark);
    return mark->seq - 1 == self->last ? GAP_NEXT : GAP_MISSING;
}

// -- updates

static void set_epoch (struct gap *self, const char *epoch)
{
    if (gap_epoch_differs (self, epoch)) {
        memcpy (self->former, self->epoch, sizeof self->former);
        if (self->seen)
            memset (self->seen, 0, GAP_SEEN_MAX * sizeof *self->seen);
    }
    if (*epoch_or_empty (epoch))
        snprintf (self->epoch, sizeof self->epoch, "%s", epoch);
}

static void set_last (struct gap *self, int64_t seq, int64_t exec_id)
{
    self->known = true;
    self->fresh = false;
    self->last = seq;
    self->exec_id = exec_id;
    if (self->seen && seq > 0)
        *seen_entry (self, seq) = (struct gap_seen){seq, exec_id};
}

void gap_resume (struct gap *self, int64_t last, const char *epoch)
{
    *self = (struct gap){.known = true, .last = last, .seen = self->seen};
    set_epoch (self, epoch);
}

void gap_begin (struct gap *self, int64_t last, const char *epoch)
{
    gap_resume (self, last, epoch);
    self->fresh = true;
}

void gap_record (struct gap *self, const struct gap_mark *mark)
{
    set_epoch (self, mark->epoch);
    set_last (self, mark->seq, mark->exec_id);
    self->from_history = 0;
}

void gap_record_history (struct gap *self, const struct gap_mark *mark)
{
    set_epoch (self, mark->epoch);
    set_last (self, mark->seq, mark->exec_id);
    if (self->from_history == 0)
        self->from_history = mark->seq;
}

void gap_skip_to (struct gap *self, int64_t seq, const char *epoch)
{
    set_epoch (self, epoch);
    if (seq > self->last)
        set_last (self, seq, 0);
}

void gap_restart (struct gap *self, const char *epoch)
{
    set_epoch (self, epoch);
    set_last (self, 0, 0);
    self->from_history = 0;
}
