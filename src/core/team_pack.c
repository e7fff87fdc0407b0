// A team as msgpack, byte for byte as Redis' cmsgpack packs it: the smallest form of each integer
// and text. It reads every form that cmsgpack writes.
#include "team.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "rows.h"

const char *const worker_state_names[WORKER_STATES] = {[WORKER_RUNNING] = "running",
                                                       [WORKER_SUCCESS] = "success",
                                                       [WORKER_FAIL] = "fail",
                                                       [WORKER_FAILED_EARLIER] = "out"};

// -- writing

static void pack_bytes (struct pack_text *out, struct span bytes)
{
    if (out->room - out->size < bytes.size) {
        out->room = 2 * (out->size + bytes.size);
        out->data = memory_resize (out->data, out->room);
    }
    if (bytes.size)
        memcpy (out->data + out->size, bytes.data, bytes.size);
    out->size += bytes.size;
}

// Write a type byte, and after it a number of `width` bytes, the highest first.
static void pack_header (struct pack_text *out, uint8_t first, uint64_t number, size_t width)
{
    uint8_t bytes[9] = {first};
    for (size_t i = 0; i < width; i++)
        bytes[1 + i] = (uint8_t)(number >> (8 * (width - 1 - i)));
    pack_bytes (out, span_of (bytes, 1 + width));
}

static void pack_integer (struct pack_text *out, int64_t number)
{
    static const size_t widths[] = {1, 2, 4, 8};
    uint64_t bits = (uint64_t)number;
    if (number >= -32 && number <= 127) {
        pack_header (out, (uint8_t)number, 0, 0);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        size_t width = widths[i];
        bool fits = width == 8 || (number >= 0 ? bits >> (8 * width) == 0
                                               : number >= -((int64_t)1 << (8 * width - 1)));
        if (!fits)
            continue;
        pack_header (out, (uint8_t)((number >= 0 ? 0xcc : 0xd0) + i), bits, width);
        return;
    }
}

static void pack_string (struct pack_text *out, struct span text)
{
    if (text.size < 32)
        pack_header (out, (uint8_t)(0xa0 | text.size), 0, 0);
    else if (text.size <= UINT8_MAX)
        pack_header (out, 0xd9, text.size, 1);
    else if (text.size <= UINT16_MAX)
        pack_header (out, 0xda, text.size, 2);
    else
        pack_header (out, 0xdb, text.size, 4);
    pack_bytes (out, text);
}

static void pack_exec_id (struct pack_text *out, uint64_t exec_id)
{
    char digits[24];
    int size = snprintf (digits, sizeof digits, "%" PRIu64, exec_id);
    pack_string (out, span_of (digits, (size_t)size));
}

void team_pack_worker (const struct team_worker *worker, struct pack_text *out)
{
    bool advice = worker->advice.kind != ADVICE_NONE, progress = worker->progress.size || advice;
    pack_header (out, (uint8_t)(0x90 | (8 + progress + 2 * advice)), 0, 0);
    pack_string (out, span_text (worker_state_names[worker->state]));
    pack_integer (out, worker->started_ms);
    pack_integer (out, worker->last_report_ms);
    pack_integer (out, worker->ended_ms);
    pack_integer (out, worker->timeout_s);
    pack_exec_id (out, worker->exec_id);
    pack_string (out, worker->reason);
    pack_string (out, worker->result);
    if (progress)
        pack_string (out, worker->progress);
    if (advice) {
        pack_integer (out, worker->advice.kind);
        pack_integer (out, worker->advice.after_s);
    }
}

void team_pack_head (const struct team *self, struct pack_text *out)
{
    pack_header (out, 0x93, 0, 0);
    pack_string (out, span_text (self->round));
    pack_integer (out, self->try);
    pack_exec_id (out, self->since);
}

// -- reading

struct packed_item {
    bool is_text;
    int64_t number;
    struct span text;
};

enum { ITEMS_MAX = 11 };
static const int64_t TIME_MAX_MS = (int64_t)1 << 53;

struct packed {
    const uint8_t *at, *end;
};

// Read a number of `width` bytes.
static bool unpack_number (struct packed *self, size_t width, uint64_t *ret)
{
    uint64_t number = 0;
    if ((size_t)(self->end - self->at) < width)
        return false;
    for (size_t i = 0; i < width; i++)
        number = number << 8 | *self->at++;
    *ret = number;
    return true;
}

// Read a text: its size has `width` bytes; if `width` is 0, it is `size`.
static bool unpack_text (struct packed *self, size_t width, uint64_t size, struct packed_item *ret)
{
    if ((width && !unpack_number (self, width, &size)) || (uint64_t)(self->end - self->at) < size)
        return false;
    *ret = (struct packed_item){.is_text = true, .text = span_of (self->at, (size_t)size)};
    self->at += size;
    return true;
}

// Read a float or double as an integer.
static bool unpack_real (struct packed *self, size_t width, struct packed_item *ret)
{
    uint64_t bits;
    float small;
    double real;
    if (!unpack_number (self, width, &bits))
        return false;
    uint32_t low = (uint32_t)bits;
    memcpy (&small, &low, sizeof small);
    memcpy (&real, &bits, sizeof real);
    if (width == sizeof small)
        real = (double)small;
    if (!(fabs (real) < 1e18))
        return false;
    *ret = (struct packed_item){.number = (int64_t)real};
    return true;
}

static bool unpack_integer (struct packed *self, uint8_t first, struct packed_item *ret)
{
    static const size_t widths[] = {1, 2, 4, 8};
    uint64_t bits;
    if (!unpack_number (self, widths[first & 3], &bits) || (first == 0xcf && bits > INT64_MAX))
        return false;
    int64_t number = (int64_t)bits;
    if (first == 0xd0)
        number = (int8_t)bits;
    else if (first == 0xd1)
        number = (int16_t)bits;
    else if (first == 0xd2)
        number = (int32_t)bits;
    *ret = (struct packed_item){.number = number};
    return true;
}

static bool unpack_item (struct packed *self, struct packed_item *ret)
{
    if (self->at == self->end)
        return false;
    uint8_t first = *self->at++;
    if (first <= 0x7f || first >= 0xe0) {
        *ret = (struct packed_item){.number = (int8_t)first};
        return true;
    }
    if (first >= 0xa0 && first <= 0xbf)
        return unpack_text (self, 0, first & 0x1f, ret);
    if (first >= 0xc4 && first <= 0xc6) // bin
        return unpack_text (self, (size_t)1 << (first - 0xc4), 0, ret);
    if (first >= 0xd9 && first <= 0xdb)
        return unpack_text (self, (size_t)1 << (first - 0xd9), 0, ret);
    if (first >= 0xca && first <= 0xcb)
        return unpack_real (self, first == 0xca ? 4 : 8, ret);
    return first >= 0xcc && first <= 0xd3 && unpack_integer (self, first, ret);
}

// Read an array of at least `least` items, all texts or numbers. Returns their number, 0 = the
// value is not valid.
static size_t unpack_items (struct span value, size_t least, struct packed_item items[ITEMS_MAX])
{
    struct packed packed = {value.data, value.data + value.size};
    if (!value.size || (value.data[0] & 0xf0) != 0x90)
        return 0;
    size_t count = *packed.at++ & 0x0f;
    if (count < least || count > ITEMS_MAX)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!unpack_item (&packed, &items[i]))
            return 0;
    return packed.at == packed.end ? count : 0;
}

static bool read_exec_id (const struct packed_item *item, uint64_t *ret)
{
    uint64_t number = 0;
    if (!item->is_text || item->text.size > 19)
        return false;
    for (size_t i = 0; i < item->text.size; i++) {
        if (item->text.data[i] < '0' || item->text.data[i] > '9')
            return false;
        number = 10 * number + item->text.data[i] - '0';
    }
    *ret = number;
    return true;
}

// Whether an item is a number within 0..most.
static bool is_number (const struct packed_item *item, int64_t most)
{
    return !item->is_text && item->number >= 0 && item->number <= most;
}

bool team_unpack_worker (struct span value, struct team_worker *ret)
{
    enum {
        STATE,
        STARTED,
        LAST_REPORT,
        ENDED,
        TIMEOUT_S,
        EXEC,
        REASON,
        RESULT,
        PROGRESS,
        ADVICE,
        AFTER
    };
    struct packed_item items[ITEMS_MAX] = {0};
    size_t count = unpack_items (value, RESULT + 1, items), state = 0;
    struct team_worker worker = {0};
    while (state < WORKER_STATES && !span_is (items[STATE].text, worker_state_names[state]))
        state++;
    if (!count || state == WORKER_STATES || !items[REASON].is_text || !items[RESULT].is_text ||
        !is_number (&items[STARTED], TIME_MAX_MS) ||
        !is_number (&items[LAST_REPORT], TIME_MAX_MS) || !is_number (&items[ENDED], TIME_MAX_MS) ||
        !is_number (&items[TIMEOUT_S], INT32_MAX) ||
        !read_exec_id (&items[EXEC], &worker.exec_id) ||
        !is_number (&items[ADVICE], ADVICE_RELEASE) || !is_number (&items[AFTER], ADVICE_AFTER_MAX))
        return false;
    worker.state = (enum worker_state)state;
    worker.started_ms = items[STARTED].number;
    worker.last_report_ms = items[LAST_REPORT].number;
    worker.ended_ms = items[ENDED].number;
    worker.timeout_s = items[TIMEOUT_S].number;
    worker_set_text (&worker.reason, items[REASON].text);
    worker_set_text (&worker.result, items[RESULT].text);
    worker_set_text (&worker.progress, items[PROGRESS].text);
    worker.advice = (struct advice){(enum advice_kind)items[ADVICE].number, items[AFTER].number};
    *ret = worker;
    return true;
}

bool team_unpack_head (struct span value, struct team *ret)
{
    struct packed_item items[ITEMS_MAX];
    uint64_t since;
    if (unpack_items (value, 3, items) != 3 || !items[0].is_text ||
        items[0].text.size >= sizeof ret->round || !read_exec_id (&items[2], &since))
        return false;
    memset (ret->round, 0, sizeof ret->round);
    if (items[0].text.size)
        memcpy (ret->round, items[0].text.data, items[0].text.size);
    ret->try = items[1].number;
    ret->since = since;
    return true;
}

// -- rows

static struct span worker_field (struct rows *rows, const char *name)
{
    char field[2 + 64 + 1];
    int size = snprintf (field, sizeof field, "w:%s", name);
    if ((size_t)size < sizeof field)
        return rows_copy (rows, span_of (field, (size_t)size));
    char *longer = memory_new ((size_t)size + 1); // such a name is invalid, but Redis may have it
    snprintf (longer, (size_t)size + 1, "w:%s", name);
    struct span copy = rows_copy (rows, span_of (longer, (size_t)size));
    free (longer);
    return copy;
}

static void write_team_fields (struct team *self, struct span key, struct rows *rows)
{
    struct span *words = memory_new ((4 + 2 * self->count) * sizeof *words);
    struct pack_text text = {0};
    size_t count = 2;
    words[0] = span_text ("HSET");
    words[1] = key;
    if (self->unwritten) {
        team_pack_head (self, &text);
        words[count++] = span_text ("team");
        words[count++] = rows_copy (rows, span_of (text.data, text.size));
    }
    for (size_t i = 0; i < self->count; i++) {
        struct team_worker *worker = self->workers[i];
        if (!worker->unwritten)
            continue;
        text.size = 0;
        team_pack_worker (worker, &text);
        words[count++] = worker_field (rows, worker->name);
        words[count++] = rows_copy (rows, span_of (text.data, text.size));
        worker->unwritten = false;
    }
    if (count > 2)
        rows_add_command (rows, words, count);
    self->kept = self->kept || count > 2;
    self->unwritten = false;
    free (text.data);
    free (words);
}

void team_write (struct team *self, struct span key, struct rows *rows)
{
    if (self->cleared)
        rows_add_command (rows, (const struct span[]){span_text ("DEL"), key}, 2);
    self->kept = self->kept && !self->cleared;
    self->cleared = false;
    if (self->removed_count && self->kept) {
        struct span *words = memory_new ((2 + self->removed_count) * sizeof *words);
        words[0] = span_text ("HDEL");
        words[1] = key;
        for (size_t i = 0; i < self->removed_count; i++)
            words[2 + i] = worker_field (rows, self->removed[i]);
        rows_add_command (rows, words, 2 + self->removed_count);
        free (words);
    }
    for (size_t i = 0; i < self->removed_count; i++)
        free (self->removed[i]);
    self->removed_count = 0;
    write_team_fields (self, key, rows);
}
