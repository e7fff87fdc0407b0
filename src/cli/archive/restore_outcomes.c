// Restores outcomes of runs, in batches, without those that the station has already.
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"
#include "pages.h"
#include "print.h"
#include "restore_private.h"

enum { BATCH = 200, BATCH_BYTES = 400000 }; // outcomes and bytes per request

// -- what the station has

// Compute two sums of the outcome's text: FNV-1a, and a polynomial over another prime.
static struct seen_outcome sums_of (const json_t *run)
{
    json_t *bare = json_copy ((json_t *)(uintptr_t)run);
    json_object_del (bare, "entry");
    json_object_del (bare, "seq");
    json_object_del (bare, "output");   // may have been dropped, or not requested
    json_object_del (bare, "callback"); // still changes, and is not restored
    char *text = json_dumps (bare, JSON_COMPACT | JSON_SORT_KEYS);
    struct seen_outcome sums = {.sums = {UINT64_C (0xcbf29ce484222325), 0}, .left = 1};
    for (const char *at = text; at && *at; at++) {
        sums.sums[0] = (sums.sums[0] ^ (uint8_t)*at) * UINT64_C (0x100000001b3);
        sums.sums[1] = sums.sums[1] * UINT64_C (0x9e3779b97f4a7c15) + (uint8_t)*at + 1;
    }
    free (text);
    json_decref (bare);
    return sums;
}

static int compare_sums (const void *a, const void *b)
{
    const struct seen_outcome *x = a, *y = b;
    return memcmp (x->sums, y->sums, sizeof x->sums);
}

// Sort the set, and count equal outcomes in one item.
static void sort_seen (struct seen_outcomes *self)
{
    size_t kept = 0;
    if (self->count)
        qsort (self->at, self->count, sizeof *self->at, compare_sums);
    for (size_t i = 0; i < self->count; i++) {
        if (kept && compare_sums (&self->at[i], &self->at[kept - 1]) == 0)
            self->at[kept - 1].left++;
        else
            self->at[kept++] = self->at[i];
    }
    self->count = kept;
}

// Remove one copy of this outcome from the set. False: there is none left.
static bool remove_seen (struct seen_outcomes *self, const json_t *run)
{
    const struct seen_outcome wanted = sums_of (run);
    struct seen_outcome *at =
        self->count ? bsearch (&wanted, self->at, self->count, sizeof wanted, compare_sums) : NULL;
    if (!at || at->left == 0)
        return false;
    at->left--;
    return true;
}

static bool add_seen (struct pages *pages, json_t *run)
{
    struct seen_outcomes *seen = pages->owner;
    seen->at = memory_grow (seen->at, seen->count, &seen->room, sizeof *seen->at);
    seen->at[seen->count++] = sums_of (run);
    return true;
}

// Read which outcomes the station has, before the first is restored.
static void read_seen_outcomes (struct restore_state *self)
{
    struct pages pages = {.word = "history",
                          .filter = json_object (),
                          .room = INT64_MAX,
                          .take_item = add_seen,
                          .owner = &self->seen};
    struct verdict verdict = pages_read (self->cli, self->client, &pages);
    sort_seen (&self->seen);
    self->history_seen = true;
    if (verdict.code != EXIT_DONE) {
        self->failure = verdict;
        self->stopped = true;
        self->code = verdict.code;
    }
}

// -- the batch

void restore_send_outcomes (struct restore_state *self)
{
    size_t count = json_array_size (self->runs);
    if (count == 0 || self->stopped)
        return;
    json_t *object = json_pack ("{s:O}", "runs", self->runs), *answer = NULL;
    char *text = json_write (object);
    if (!self->dry_run)
        answer = restore_request (self, (const char *[]){"restore", "history", text, NULL});
    if (answer || self->dry_run)
        self->added[OUTCOMES] += (int64_t)count;
    else if (self->unknown)
        complain (self->name,
                  span_text ("some outcomes may have been added: import again, which reads the "
                             "history first, and adds the rest"));
    json_decref (answer);
    json_decref (object);
    free (text);
    json_array_clear (self->runs);
    self->runs_bytes = 0;
}

void restore_outcome (struct restore_state *self, const json_t *record)
{
    json_t *run = json_object_get (record, "run");
    if (!json_is_object (run)) {
        restore_refuse (self, self->line, span_text ("outcome: want run, an object"));
        return;
    }
    if (!self->history_seen)
        read_seen_outcomes (self);
    if (remove_seen (&self->seen, run)) {
        restore_count (self, OUTCOMES, true);
        return;
    }
    char *text = json_write (run);
    self->runs_bytes += strlen (text);
    free (text);
    json_array_append (self->runs, run);
    if (json_array_size (self->runs) == BATCH || self->runs_bytes > BATCH_BYTES)
        restore_send_outcomes (self);
}
