// A team as msgpack, byte for byte as Redis' cmsgpack packs it: the smallest form of each integer
// and text. It reads every form that cmsgpack writes.
#include "team.h"

#include <inttypes.h>
#include <math.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "rows.h"

const char *const worker_state_names[WORKER_STATES] = {[WORKER_RUNNING] = "running",
                                                       [WORKER_SUCCESS] = "success",
                                                       [WORKER_FAIL] = "fail",
                                                       [WORKER_FAILED_EARLIER] = "out"};

// -- writing

// Append to a struct pack_text.
static int write_bytes (void *data, const char *bytes, size_t size)
{
    struct pack_text *out = data;
    if (out->room - out->size < size) {
        out->room = 2 * (out->size + size);
        out->data = memory_resize (out->data, out->room);
    }
    if (size)
        memcpy (out->data + out->size, bytes, size);
    out->size += size;
    return 0;
}

static void pack_string (msgpack_packer *out, struct span text)
{
    msgpack_pack_str_with_body (out, text.data, text.size);
}

static void pack_exec_id (msgpack_packer *out, uint64_t exec_id)
{
    char digits[24];
    int size = snprintf (digits, sizeof digits, "%" PRIu64, exec_id);
    pack_string (out, span_of (digits, (size_t)size));
}

void team_pack_worker (const struct team_worker *worker, struct pack_text *text)
{
    bool advice = worker->advice.kind != ADVICE_NONE, progress = worker->progress.size || advice;
    msgpack_packer out;
    msgpack_packer_init (&out, text, write_bytes);
    msgpack_pack_array (&out, (size_t)8 + progress + 2 * advice);
    pack_string (&out, span_text (worker_state_names[worker->state]));
    msgpack_pack_int64 (&out, worker->started_ms);
    msgpack_pack_int64 (&out, worker->last_report_ms);
    msgpack_pack_int64 (&out, worker->ended_ms);
    msgpack_pack_int64 (&out, worker->timeout_s);
    pack_exec_id (&out, worker->exec_id);
    pack_string (&out, worker->reason);
    pack_string (&out, worker->result);
    if (progress)
        pack_string (&out, worker->progress);
    if (advice) {
        msgpack_pack_int64 (&out, worker->advice.kind);
        msgpack_pack_int64 (&out, worker->advice.after_s);
    }
}

void team_pack_head (const struct team *self, struct pack_text *text)
{
    msgpack_packer out;
    msgpack_packer_init (&out, text, write_bytes);
    msgpack_pack_array (&out, 3);
    pack_string (&out, span_text (self->round));
    msgpack_pack_int64 (&out, self->try);
    pack_exec_id (&out, self->since);
}

// -- reading

struct packed_item {
    bool is_text;
    int64_t number;
    struct span text;
};

enum { ITEMS_MAX = 11 };
static const int64_t TIME_MAX_MS = (int64_t)1 << 53;

// Whether an array or map begins with this byte. Such an item is not valid, and msgpack-c would
// reserve memory for whatever count it claims.
static bool begins_container (uint8_t first)
{
    return (first >= 0x80 && first <= 0x9f) || (first >= 0xdc && first <= 0xdf);
}

// Read a text, or a number as an integer.
static bool read_item (const msgpack_object *item, struct packed_item *ret)
{
    *ret = (struct packed_item){0};
    switch (item->type) {
    case MSGPACK_OBJECT_STR:
    case MSGPACK_OBJECT_BIN:
        ret->is_text = true;
        if (item->via.str.size) // else msgpack-c may leave the pointer unset
            ret->text = span_of (item->via.str.ptr, item->via.str.size);
        return true;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        ret->number = item->via.i64;
        return item->type == MSGPACK_OBJECT_NEGATIVE_INTEGER || item->via.u64 <= INT64_MAX;
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        if (!(fabs (item->via.f64) < 1e18))
            return false;
        ret->number = (int64_t)item->via.f64;
        return true;
    default:
        return false;
    }
}

// Read an array of at least `least` items, all texts or numbers. Returns their number, 0 = the
// value is not valid.
static size_t unpack_items (struct span value, size_t least, struct packed_item items[ITEMS_MAX])
{
    size_t count = value.size ? value.data[0] & 0x0f : 0, at = 1;
    if (count < least || count > ITEMS_MAX || (value.data[0] & 0xf0) != 0x90)
        return 0;
    msgpack_unpacked item;
    msgpack_unpacked_init (&item);
    bool valid = true;
    for (size_t i = 0; valid && i < count; i++)
        valid = at < value.size && !begins_container (value.data[at]) &&
                msgpack_unpack_next (&item, (const char *)value.data, value.size, &at) ==
                    MSGPACK_UNPACK_SUCCESS &&
                read_item (&item.data, &items[i]);
    msgpack_unpacked_destroy (&item);
    return valid && at == value.size ? count : 0;
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
        return rows_copy_text (rows, span_of (field, (size_t)size));
    char *longer = memory_new ((size_t)size + 1); // such a name is invalid, but Redis may have it
    snprintf (longer, (size_t)size + 1, "w:%s", name);
    struct span copy = rows_copy_text (rows, span_of (longer, (size_t)size));
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
        words[count++] = rows_copy_text (rows, span_of (text.data, text.size));
    }
    for (size_t i = 0; i < self->count; i++) {
        struct team_worker *worker = self->workers[i];
        if (!worker->unwritten)
            continue;
        text.size = 0;
        team_pack_worker (worker, &text);
        words[count++] = worker_field (rows, worker->name);
        words[count++] = rows_copy_text (rows, span_of (text.data, text.size));
        worker->unwritten = false;
    }
    if (count > 2)
        rows_add_command (rows, words, count);
    self->is_stored = self->is_stored || count > 2;
    self->unwritten = false;
    free (text.data);
    free (words);
}

void team_write (struct team *self, struct span key, struct rows *rows)
{
    if (self->clears_first)
        rows_add_command (rows, WORDS (TEXT ("DEL"), key));
    self->is_stored = self->is_stored && !self->clears_first;
    self->clears_first = false;
    for (size_t i = 0; i < self->removed_count; i++) {
        if (self->is_stored)
            rows_merge_command (rows,
                                WORDS (TEXT ("HDEL"), key, worker_field (rows, self->removed[i])));
        free (self->removed[i]);
    }
    self->removed_count = 0;
    write_team_fields (self, key, rows);
}
