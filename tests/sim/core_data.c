#include "core_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "memory.h"

enum { PREFIX_SIZE = sizeof "plan:msg:" - 1 }; // or plan:team:, a byte more

static bool key_is_team (struct span key)
{
    return key.size > PREFIX_SIZE && memcmp (key.data, "plan:team:", PREFIX_SIZE + 1) == 0;
}

static bool key_parse (struct span key, struct span *ret_target, uint64_t *ret_id)
{
    size_t prefix = PREFIX_SIZE + key_is_team (key);
    if (key.size <= prefix ||
        (prefix == PREFIX_SIZE && memcmp (key.data, "plan:msg:", PREFIX_SIZE) != 0))
        return false;
    const uint8_t *colon = memrchr (key.data, ':', key.size);
    *ret_target = span_of (key.data + prefix, (size_t)(colon - key.data) - prefix);
    return ident_parse (span_of (colon + 1, key.size - (size_t)(colon + 1 - key.data)), ret_id);
}

static struct kept_plan *plan_of (struct core_data *self, struct span key)
{
    struct span target;
    uint64_t id;
    if (!key_parse (key, &target, &id) || id >= DATA_PLANS)
        return NULL;
    struct kept_plan *plan = &self->plans[id];
    memset (plan->target, 0, sizeof plan->target);
    memcpy (plan->target, target.data, target.size);
    plan->id = id;
    plan->used = true;
    return plan;
}

static struct kept_plan *plan_of_entry (struct core_data *self, struct span entry)
{
    char key[STATION_NAME_MAX + 64];
    uint64_t id;
    if (entry.size < 18 || !ident_parse (span_of (entry.data, 16), &id))
        return NULL;
    snprintf (key, sizeof key, "plan:msg:%.*s:%" PRIx64, (int)(entry.size - 17),
              (const char *)entry.data + 17, id);
    return plan_of (self, span_text (key));
}

static void copy (char *out, size_t room, struct span text)
{
    snprintf (out, room, "%.*s", (int)text.size, (const char *)text.data);
}

// -- teams

static void team_clear (struct kept_plan *plan)
{
    for (size_t i = 0; i < DATA_FIELDS; i++) {
        free (plan->team[i].value);
        plan->team[i] = (struct kept_field){""};
    }
}

static bool team_put (struct kept_plan *plan, struct span name, struct span value)
{
    struct kept_field *place = NULL;
    for (size_t i = DATA_FIELDS; i-- > 0;)
        if (!*plan->team[i].name && (!place || !*place->name))
            place = &plan->team[i];
        else if (span_is (name, plan->team[i].name))
            place = &plan->team[i];
    if (!place)
        return false;
    free (place->value);
    place->value = memory_resize (NULL, value.size + 1);
    memcpy (place->value, value.data, value.size);
    place->size = value.size;
    copy (place->name, sizeof place->name, name);
    return true;
}

static void team_take_out (struct kept_plan *plan, struct span name)
{
    for (size_t i = 0; i < DATA_FIELDS; i++)
        if (span_is (name, plan->team[i].name)) {
            free (plan->team[i].value);
            plan->team[i] = (struct kept_field){""};
        }
}

static bool apply_team (struct core_data *self, const struct span *words, size_t count)
{
    struct kept_plan *plan = plan_of (self, words[1]);
    bool sets = span_is (words[0], "HSET"), good = plan != NULL;
    if (good && span_is (words[0], "DEL"))
        team_clear (plan);
    for (size_t i = 2; good && i < count; i += 1U + sets) {
        if (sets)
            good = team_put (plan, words[i], words[i + 1]);
        else
            team_take_out (plan, words[i]);
    }
    return good;
}

void core_data_find (const struct core_data *self, uint64_t id, struct core_found *found)
{
    static struct span fields[2 * DATA_FIELDS];
    const struct kept_plan *plan = &self->plans[id];
    size_t count = 0;
    for (size_t i = 0; i < DATA_FIELDS; i++) {
        if (!*plan->team[i].name)
            continue;
        fields[count++] = span_text (plan->team[i].name);
        fields[count++] = span_of (plan->team[i].value, plan->team[i].size);
    }
    *found = (struct core_found){.score_us = plan->queued ? plan->score_us : -1,
                                 .team = fields,
                                 .team_count = count,
                                 .report = -1};
    if (!plan->message)
        return;
    found->target = span_text (plan->target);
    found->message = span_text (plan->message);
}

static int64_t score_of (struct span text)
{
    char copied[40];
    copy (copied, sizeof copied, text);
    return (int64_t)(strtod (copied, NULL) * 1e6 + 0.5);
}

static bool apply_row (struct core_data *self, enum row_column column, const struct span *row,
                       const char **ret_why)
{
    bool entry = column == COLUMN_LIST || column == COLUMN_UNLIST;
    bool scored = column == COLUMN_QUEUE || column == COLUMN_LIST;
    struct span key = row[scored ? 1 : 0];
    struct kept_plan *plan = entry ? plan_of_entry (self, key) : plan_of (self, key);
    *ret_why = "a key that is none";
    if (!plan)
        return false;
    switch (column) {
    case COLUMN_SET:
        free (plan->message);
        plan->message = memory_new (row[1].size + 1);
        memcpy (plan->message, row[1].data, row[1].size);
        break;
    case COLUMN_DEL:
        free (plan->message);
        plan->message = NULL;
        break;
    case COLUMN_QUEUE:
        plan->queued = true;
        plan->score_us = score_of (row[0]);
        break;
    case COLUMN_UNQUEUE:
        plan->queued = false;
        break;
    case COLUMN_LIST:
    case COLUMN_UNLIST:
        plan->listed = column == COLUMN_LIST;
        break;
    case COLUMN_RUN:
        copy (plan->run, sizeof plan->run, row[1]);
        break;
    case COLUMN_UNRUN:
        plan->run[0] = '\0';
        break;
    case COLUMN_CLASS:
        copy (plan->class, sizeof plan->class, row[1]);
        break;
    default:
        plan->class[0] = '\0';
    }
    return true;
}

static void apply_number (struct core_data *self, struct span name, struct span value)
{
    char text[40];
    copy (text, sizeof text, value);
    if (span_is (name, "exec"))
        self->exec = strtoll (text, NULL, 10);
    else if (span_is (name, "seq"))
        self->seq = strtoll (text, NULL, 10);
    else if (span_is (name, "epoch"))
        memcpy (self->epoch, text, sizeof self->epoch);
}

static bool apply_count (struct core_data *self, struct span name, struct span change)
{
    char text[40];
    copy (text, sizeof text, change);
    for (size_t i = 0; i < DATA_COUNTS; i++) {
        struct kept_count *count = &self->counts[i];
        if (*count->name && !span_is (name, count->name))
            continue;
        copy (count->name, sizeof count->name, name);
        count->plans += strtoll (text, NULL, 10);
        return true;
    }
    return false;
}

int64_t core_data_count (const struct core_data *self, const char *name)
{
    for (size_t i = 0; i < DATA_COUNTS; i++)
        if (strcmp (self->counts[i].name, name) == 0)
            return self->counts[i].plans;
    return 0;
}

static bool apply_outcomes (struct core_data *self, const struct rows *rows, const char **ret_why)
{
    *ret_why = "a broadcast is not the next one";
    for (size_t i = 0; i < rows->outcome_count; i++) {
        const struct outcome_row *outcome = &rows->outcomes[i];
        self->outcomes++;
        if (outcome->sub == 0 && outcome->seq != self->last_seq + 1)
            return false;
        self->last_seq = outcome->seq;
    }
    return true;
}

bool core_data_apply (struct core_data *self, const struct rows *rows, const char **ret_why)
{
    for (int column = 0; column < COLUMNS; column++) {
        const struct row_list *list = &rows->columns[column];
        size_t width = column_forms[column].width;
        for (size_t i = 0; i < list->count; i += width)
            if (!apply_row (self, (enum row_column)column, &list->at[i], ret_why))
                return false;
    }
    const struct span *word = rows->commands.words;
    *ret_why = "rows of a team that is none, or more names are counted than there are";
    for (size_t i = 0; i < rows->commands.commands; word += rows->commands.sizes[i++])
        if (key_is_team (word[1])) {
            if (!apply_team (self, word, rows->commands.sizes[i]))
                return false;
        } else if (span_is (word[1], "plan:count")) {
            if (!apply_count (self, word[2], word[3]))
                return false;
        } else if (span_is (word[1], "plan:meta"))
            for (size_t k = 2; k + 1 < rows->commands.sizes[i]; k += 2)
                apply_number (self, word[k], word[k + 1]);
    return apply_outcomes (self, rows, ret_why);
}

void core_data_load (const struct core_data *self, struct core *core)
{
    struct core_numbers numbers = {
        .exec_id = (uint64_t)self->exec, .seq = self->seq, .classes = true};
    memcpy (numbers.epoch, self->epoch, sizeof numbers.epoch);
    for (size_t i = 0; i < DATA_PLANS; i++)
        numbers.plans += self->plans[i].listed;
    for (size_t i = 0; i < DATA_PLANS; i++) {
        const struct kept_plan *plan = &self->plans[i];
        if (!plan->run[0])
            continue;
        core_load_run (core, span_text (plan->target), plan->id, span_text (plan->run));
        if (plan->class[0])
            core_load_class (core, span_text (plan->target), plan->id, span_text (plan->class));
    }
    core_load_numbers (core, &numbers);
}

static int by_score (const void *one, const void *other)
{
    const struct kept_plan *a = *(const struct kept_plan *const *)one;
    const struct kept_plan *b = *(const struct kept_plan *const *)other;
    char left[STATION_NAME_MAX + 40], right[STATION_NAME_MAX + 40];
    if (a->score_us != b->score_us)
        return a->score_us < b->score_us ? -1 : 1;
    snprintf (left, sizeof left, "%s:%" PRIx64, a->target, a->id);
    snprintf (right, sizeof right, "%s:%" PRIx64, b->target, b->id);
    return strcmp (left, right);
}

static bool is_behind (const struct kept_plan *plan, const struct core_cursor *cursor)
{
    char own[STATION_NAME_MAX + 40], last[STATION_NAME_MAX + 40];
    if (plan->score_us != cursor->score_us)
        return plan->score_us > cursor->score_us;
    snprintf (own, sizeof own, "%s:%" PRIx64, plan->target, plan->id);
    snprintf (last, sizeof last, "%s:%" PRIx64, cursor->target, cursor->id);
    return !cursor->all && strcmp (own, last) > 0;
}

void core_data_page (const struct core_data *self, struct core *core,
                     const struct core_cursor *cursor, int64_t now_us)
{
    const struct kept_plan **queue = memory_new (DATA_PLANS * sizeof *queue);
    struct core_member *members = memory_new (CORE_PAGE * sizeof *members);
    size_t queued = 0, count = 0;
    for (size_t i = 0; i < DATA_PLANS; i++)
        if (self->plans[i].queued && is_behind (&self->plans[i], cursor))
            queue[queued++] = &self->plans[i];
    qsort (queue, queued, sizeof *queue, by_score);
    for (size_t i = 0; i < queued && count < CORE_PAGE; i++)
        members[count++] = (struct core_member){.target = span_text (queue[i]->target),
                                                .id = queue[i]->id,
                                                .score_us = queue[i]->score_us,
                                                .class = span_text (queue[i]->class)};
    core_load_page (core, members, count, count, now_us);
    free (members);
    free (queue);
}

void core_data_free (struct core_data *self)
{
    for (size_t i = 0; i < DATA_PLANS; i++) {
        free (self->plans[i].message);
        team_clear (&self->plans[i]);
    }
    free (self);
}
