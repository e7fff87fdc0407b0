// Applies events to a run of a flow, and compares the states of its steps after them.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow_run.h"

// Events are words: a+ ended well, a- failed, a/ cancelled, a.1+ of an item, a.1:2+ of its second
// generation, ~a+ of its undo, a*
// or a.1* its timer, a! a signal, a? a rejected signal, >a skipped, >a.1 an item skipped, <a
// retried, < retried by default, and the names below. One that is rejected or dropped is counted.
// State: a letter a step, in the order of the definition.
struct row {
    const char *name, *definition, *events, *states;
    enum flow_outcome outcome; // FLOW_OPEN: it has not ended
    const char *placed;        // the calls in the order in which they were placed
    const char *refused;       // part of the reason of the last rejected event; NULL: none was
    int dropped;               // events that change nothing
};

#define CALL(more)   "{\"target\": \"t\"" more "}"
#define TOTAL        ", \"total_timeout\": 3"
#define AFTER(step)  ", \"after\": [\"" step "\"]"
#define ON(step, on) "{\"step\": \"" step "\", \"on\": " on "}"

struct player {
    const struct flow *flow;
    struct flow_run *run;
    char placed[256], refused[256];
    int dropped;
    int timers; // timers that were set, and neither removed nor due
};

static void carry (struct player *self, struct flow_event *event)
{
    struct flow_effects effects = {.count = 0};
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    flow_step (self->flow, self->run, event, event->kind == FLOW_TIMER_DUE ? 10000 : 1000,
               &effects);
    while (effects.more)
        flow_step (self->flow, self->run, &more, 1000, &effects);
    self->dropped += effects.dropped;
    self->timers -= event->kind == FLOW_TIMER_DUE && !effects.dropped;
    if (effects.rejected.text[0])
        snprintf (self->refused, sizeof self->refused, "%s", effects.rejected.text);
    for (size_t i = 0; i < effects.count; i++) {
        const struct flow_effect *effect = &effects.items[i];
        size_t used = strlen (self->placed);
        self->timers += (effect->kind == FLOW_TIMER) - (effect->kind == FLOW_REMOVE_TIMER);
        if (effect->kind != FLOW_PLACE)
            continue;
        used += (size_t)snprintf (self->placed + used, sizeof self->placed - used, "%s%s%s",
                                  used ? " " : "", effect->undo ? "~" : "",
                                  self->flow->steps[effect->step].name);
        if (effect->item >= 0)
            snprintf (self->placed + used, sizeof self->placed - used, ".%d", (int)effect->item);
    }
    flow_effects_clear (&effects);
}

static void play_word (struct player *self, const char *word)
{
    static const struct {
        const char *word;
        enum flow_event_kind kind;
    } words[] = {{"suspend", FLOW_SUSPEND},  {"resume", FLOW_RESUME},   {"cancel", FLOW_CANCEL},
                 {"force", FLOW_CANCEL},     {"timeout", FLOW_TIMEOUT}, {"done", FLOW_UNDO_DONE},
                 {"reset", FLOW_UNDO_RESET}, {"restart", FLOW_RETRY},   {"undo", FLOW_UNDO}};
    struct flow_event event = {.item = -1, .kind = FLOW_CALL_ENDED};
    json_t *steps = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp (word, words[i].word) == 0) {
            event.kind = words[i].kind;
            event.force = strcmp (word, "force") == 0;
            event.restart = event.kind == FLOW_RETRY;
            carry (self, &event);
            return;
        }
    char sign = word[strlen (word) - 1], name[2] = {word[strspn (word, "~<>")], '\0'};
    const char *dot = strchr (word, '.');
    event.undo = word[0] == '~';
    event.step = (uint32_t)(word[0] == '<' && !word[1] ? 0 : flow_find (self->flow, name));
    if (dot)
        event.item = dot[1] - '0';
    if (!dot && strlen (word) == 3 && word[1] >= '0' && word[1] <= '9')
        event.generation = (unsigned)(word[1] - '0');
    if (strchr (word, ':'))
        event.generation = (unsigned)(strchr (word, ':')[1] - '0');
    if (word[0] == '<') {
        event.kind = FLOW_RETRY;
        event.steps = steps = word[1] ? json_pack ("[s]", word + 1) : NULL;
    } else if (word[0] == '>') {
        event.kind = FLOW_SKIP;
    } else if (sign == '*') {
        event.kind = FLOW_TIMER_DUE;
    } else if (sign == '!' || sign == '?') {
        event.kind = sign == '!' ? FLOW_SIGNALLED : FLOW_REJECTED;
    }
    event.status = sign == '-' ? FLOW_NOT_OK : sign == '/' ? FLOW_CALL_CANCELLED : FLOW_OK;
    carry (self, &event);
    json_decref (steps);
}

static void play (const struct row *row, const char *text)
{
    json_t *errors = NULL;
    struct flow *flow = flow_parse (span_text (text), NULL, &errors);
    if (!flow)
        fail_msg ("%s: %s: %s", row->name, text, json_dumps (errors, 0));
    struct player player = {.flow = flow, .run = flow_run_new (flow, "1f")};
    struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    char *events = strdup (row->events), *rest = events, *word, states[16] = "";
    carry (&player, &begin);
    while ((word = strsep (&rest, " ")))
        if (*word)
            play_word (&player, word);
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_node *node = &player.run->nodes[i];
        bool blocked = node->flags & FLOW_BLOCKED,
             person = node->state == FLOW_SKIPPED && node->flags & FLOW_BY_PERSON;
        states[i] = blocked ? 'B' : person ? 'P' : "NNRFXSC"[node->state];
    }
    enum flow_outcome outcome = player.run->phase == FLOW_ENDED ? player.run->outcome : FLOW_OPEN;
    if (strcmp (states, row->states) != 0 || outcome != row->outcome ||
        strcmp (player.placed, row->placed) != 0)
        fail_msg ("%s: %s %d placed '%s', want %s %d '%s'", row->name, states, (int)outcome,
                  player.placed, row->states, (int)row->outcome, row->placed);
    if (row->refused ? !strstr (player.refused, row->refused) : player.refused[0] != '\0')
        fail_msg ("%s: rejected '%s', want '%s'", row->name, player.refused,
                  row->refused ? row->refused : "");
    if (player.dropped != row->dropped)
        fail_msg ("%s: %d events were dropped, want %d", row->name, player.dropped, row->dropped);
    if (outcome != FLOW_OPEN && player.timers)
        fail_msg ("%s: it has ended, and has %d timers", row->name, player.timers);
    free (events);
    flow_run_destroy (&player.run, flow);
    flow_destroy (&flow);
}
