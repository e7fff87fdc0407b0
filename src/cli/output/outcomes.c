#include "outcomes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "json.h"
#include "schedule.h"

static bool read_entry_part (const char **at, uint64_t *ret)
{
    size_t digits = strspn (*at, "0123456789");
    if (digits < 1 || digits > 18)
        return false;
    *ret = strtoull (*at, NULL, 10);
    *at += digits;
    return true;
}

bool outcome_key_read (const json_t *run, struct outcome_key *ret)
{
    const char *at = json_string_value (json_object_get (run, "entry"));
    const json_t *ended = json_object_get (run, "ended");
    double seconds = json_number_value (ended);
    struct outcome_key key = {.exec_id = field_number (run, "exec_id")};
    if (!at || !read_entry_part (&at, &key.seq) || *at++ != '-' ||
        !read_entry_part (&at, &key.sub) || *at)
        return false;
    if (!json_is_number (ended) || !(seconds >= 0 && seconds < (double)SCHEDULE_TIME_MAX))
        return false;
    key.ended_ms = (int64_t)(seconds * 1000 + 0.5);
    *ret = key;
    return true;
}

json_t *outcome_read (struct span line, struct outcome_key *ret)
{
    struct reason why;
    json_t *run = json_read_object (line, &why);
    if (!run || outcome_key_read (run, ret))
        return run;
    json_decref (run);
    return NULL;
}

int outcome_key_compare (const void *a, const void *b)
{
    const struct outcome_key *key_a = a, *key_b = b;
    const uint64_t x[] = {(uint64_t)key_a->ended_ms, key_a->seq, key_a->sub,
                          (uint64_t)key_a->exec_id};
    const uint64_t y[] = {(uint64_t)key_b->ended_ms, key_b->seq, key_b->sub,
                          (uint64_t)key_b->exec_id};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

bool outcome_is_before (const struct outcome_key *a, const struct outcome_key *b)
{
    return a->seq < b->seq || (a->seq == b->seq && a->sub < b->sub);
}

const char *outcome_entry_name (const struct outcome_key *self, char out[ENTRY_NAME_SIZE])
{
    int size = snprintf (out, ENTRY_NAME_SIZE, "%" PRIu64 "-%" PRIu64, self->seq, self->sub);
    if (self->ended_ms)
        snprintf (out + size, ENTRY_NAME_SIZE - (size_t)size, ":%" PRId64, self->ended_ms);
    return out;
}

// -- statuses

enum { STATUS_CANCELLED = 0x90, STATUS_MISSED = 0x91 };

// Ranges of statuses and their words: the first matching row applies.
static const struct outcome_word {
    const char *word;
    int from, to;
} endings[] = {
    {"ok", 0, ZERO_STATUS_ERROR_FLAG - 1},
    {"lost", ZERO_STATUS_TIMEOUT_ID, ZERO_STATUS_TIMEOUT_ID},
    {"cancelled", STATUS_CANCELLED, STATUS_CANCELLED},
    {"missed", STATUS_MISSED, STATUS_MISSED},
    {"failed", ZERO_STATUS_ERROR_FLAG, UINT8_MAX},
};

enum { ENDINGS = sizeof endings / sizeof *endings };

const char *outcome_word (int status)
{
    size_t i = 0;
    while (i < ENDINGS - 1 && (status < endings[i].from || status > endings[i].to))
        i++;
    return endings[i].word;
}

const char *outcome_text (const json_t *status)
{
    static const struct {
        uint8_t status;
        const char *words;
    } rows[] = {
        {ZERO_STATUS_NOT_FIND_ID, "not found"},
        {ZERO_STATUS_NOT_SUPPORT_ID, "not supported"},
        {ZERO_STATUS_FRAME_INVALID_ID, "invalid message"},
        {ZERO_STATUS_MANAGE_ARG_ERROR_ID, "invalid argument"},
        {ZERO_STATUS_BUSY_ID, "busy"},
        {ZERO_STATUS_DENY_ID, "not allowed"},
        {ZERO_STATUS_TIMEOUT_ID, "timed out"},
        {ZERO_STATUS_NET_ERROR_ID, "network error"},
        {ZERO_STATUS_NOT_WORKER_ID, "no worker"},
        {ZERO_STATUS_FRAME_PLANERROR_ID, "invalid plan"},
        {ZERO_STATUS_SEND_ERROR_ID, "not sent"},
        {ZERO_STATUS_RECV_ERROR_ID, "target did not answer"},
    };
    json_int_t number = json_integer_value (status);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == number)
            return rows[i].words;
    if (number <= 0 || number > UINT8_MAX)
        return number == 0 ? "-" : number_cell_text (status);
    return outcome_word ((int)number);
}

void print_outcome (const json_t *status)
{
    write_coloured (stdout, status_colour (status), span_text (outcome_text (status)));
}

// Whether the text names this status: as a printed word, as the wire's word with or without its
// sign, or as a number.
static bool is_status_named (const char *text, int status)
{
    const char *word = status_word ((uint8_t)status);
    char *end;
    json_t *number = json_integer (status);
    bool shown = strcmp (text, outcome_text (number)) == 0;
    json_decref (number);
    if (shown || strcmp (text, outcome_word (status)) == 0)
        return true;
    for (size_t i = 0; i < ENDINGS; i++)
        if (strcmp (text, endings[i].word) == 0)
            return false;
    if (word && (strcmp (text, word) == 0 || strcmp (text, word + 1) == 0))
        return true;
    return text[0] >= '0' && text[0] <= '9' && strtol (text, &end, 0) == status && !*end;
}

int outcome_states_read (const struct option_texts *texts, struct outcome_states *ret,
                         struct reason *reason)
{
    *ret = (struct outcome_states){.given = texts->count > 0};
    for (size_t i = 0; i < texts->count; i++) {
        bool any = false;
        for (int status = 0; status <= UINT8_MAX; status++) {
            bool is_named = is_status_named (texts->texts[i], status);
            ret->wanted[status] |= is_named;
            any |= is_named;
        }
        if (any)
            continue;
        return reason_set (
            reason,
            "--state: want ok, failed, lost, cancelled, missed, or a status as 'not found' "
            "or 0x83, got %s",
            quoted (span_text (texts->texts[i])));
    }
    return 0;
}

json_t *outcome_statuses (const struct outcome_states *self)
{
    json_t *numbers = json_array ();
    for (int status = 0; status <= UINT8_MAX; status++)
        if (self->wanted[status])
            json_array_append_new (numbers, json_integer (status));
    return numbers;
}

bool outcome_matches (const struct outcome_states *self, const json_t *run)
{
    json_int_t status = field_number (run, "status");
    return !self->given || (status >= 0 && status <= UINT8_MAX && self->wanted[status]);
}
