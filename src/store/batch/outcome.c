#include "outcome.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>

#include "base64.h"
#include "ident.h"
#include "memory.h"
#include "plan_step.h"
#include "utf8.h"

// Write all bytes. Aborts when memory is exhausted, the only possible failure.
static int write_bytes (void *buffer, const char *bytes, size_t size)
{
    if (msgpack_sbuffer_write (buffer, bytes, size))
        abort ();
    return 0;
}

// Begin to pack into a buffer of `room` bytes; msgpack_sbuffer itself would allocate 8 KiB for a
// small record.
static void start_packing (msgpack_packer *out, msgpack_sbuffer *buffer, size_t room)
{
    *buffer = (msgpack_sbuffer){.data = memory_resize (NULL, room), .alloc = room};
    msgpack_packer_init (out, buffer, write_bytes);
}

// The name of a field in packed form: the byte before it contains its size.
struct packed_name {
    uint8_t head;
    char text[15];
};

#define PACKED_NAME(literal) ((struct packed_name){0xA0 | (sizeof literal - 1), literal})

static void pack_name (msgpack_packer *out, const struct packed_name *name)
{
    write_bytes (out->data, (const char *)name, 1 + (size_t)(name->head & 0x1F));
}

static void pack_integer (msgpack_packer *out, const struct packed_name *name, int64_t value)
{
    pack_name (out, name);
    msgpack_pack_int64 (out, value);
}

// Pack a frame as text or, if it is not UTF-8, as {"b64": text}, like json_from_frame.
static void pack_frame (msgpack_packer *out, const struct packed_name *name, struct span frame)
{
    pack_name (out, name);
    if (!frame.size || utf8_is_text (frame)) {
        msgpack_pack_str_with_body (out, frame.size ? frame.data : (const uint8_t *)"", frame.size);
        return;
    }
    char *encoded = memory_new (BASE64_SIZE (frame.size));
    base64_encode (frame, encoded);
    msgpack_pack_map (out, 1);
    pack_name (out, &PACKED_NAME ("b64"));
    msgpack_pack_str_with_body (out, encoded, BASE64_SIZE (frame.size) - 1);
    free (encoded);
}

void outcome_set_flow (struct outcome_record *self, const struct plan *plan,
                       char room[OUTCOME_STEP_SIZE])
{
    struct plan_step step;
    self->flow_run = plan->flow_run;
    if (!plan->step.size || !plan_step_parse (plan->step, &step))
        return;
    int size = snprintf (room, OUTCOME_STEP_SIZE, "%.*s", (int)step.name.size,
                         (const char *)step.name.data);
    if (step.item >= 0)
        size += snprintf (room + size, OUTCOME_STEP_SIZE - (size_t)size, ".%" PRId64, step.item);
    self->flow_run = step.run;
    self->step = span_of (room, (size_t)size);
    self->undo = step.kind == STEP_UNDO;
}

static void pack_flow (msgpack_packer *out, const struct outcome_record *record)
{
    if (record->flow_run)
        pack_integer (out, &PACKED_NAME ("flow_run"), (int64_t)record->flow_run);
    if (record->step.size)
        pack_frame (out, &PACKED_NAME ("step"), record->step);
    if (record->undo) {
        pack_name (out, &PACKED_NAME ("undo"));
        msgpack_pack_true (out);
    }
}

// Packs the map directly from the fields, for speed: each run has a record.
char *store_record (const struct outcome_record *record, size_t *ret_size)
{
    enum { FIELDS = 8, MISSED_FIELDS = 4, ROOM = 160 };
    const struct missed *missed = &record->missed;
    msgpack_sbuffer buffer;
    msgpack_packer out;
    start_packing (&out, &buffer,
                   ROOM + record->title.size + record->key.size + record->worker.size +
                       record->reason.size);
    size_t fields = (size_t)FIELDS + (record->key.size > 0) + (record->trace.size > 0) +
                    (record->callback > 0) + (record->flow_run > 0) + (record->step.size > 0) +
                    record->undo;
    msgpack_pack_map (&out, fields + (missed->count ? MISSED_FIELDS : 0));
    pack_frame (&out, &PACKED_NAME ("title"), record->title);
    if (record->key.size)
        pack_frame (&out, &PACKED_NAME ("key"), record->key);
    pack_integer (&out, &PACKED_NAME ("nominal"), record->nominal);
    pack_integer (&out, &PACKED_NAME ("status"), record->status);
    pack_integer (&out, &PACKED_NAME ("state"), record->state);
    pack_integer (&out, &PACKED_NAME ("exec_id"), (int64_t)record->exec_id);
    pack_frame (&out, &PACKED_NAME ("worker"), record->worker);
    pack_integer (&out, &PACKED_NAME ("size"), (int64_t)record->size);
    pack_frame (&out, &PACKED_NAME ("reason"), record->reason);
    if (record->callback)
        pack_integer (&out, &PACKED_NAME ("callback"), (int64_t)record->callback);
    if (missed->count) {
        pack_integer (&out, &PACKED_NAME ("missed"), missed->count);
        pack_integer (&out, &PACKED_NAME ("missed_first"), missed->first);
        pack_integer (&out, &PACKED_NAME ("missed_last"), missed->last);
        pack_frame (&out, &PACKED_NAME ("missed_why"), span_text (record->missed_why));
    }
    if (record->trace.size)
        pack_frame (&out, &PACKED_NAME ("trace"), record->trace);
    pack_flow (&out, record);
    *ret_size = buffer.size;
    return msgpack_sbuffer_release (&buffer);
}

// Pack one outcome as an array [plan, station, record].
static void pack_outcome (msgpack_packer *out, const struct outcome_row *row)
{
    enum { FIELDS = 3 };
    char id[IDENT_SIZE];
    msgpack_pack_array (out, FIELDS);
    msgpack_pack_str_with_body (out, id, strlen (ident_text (row->plan_id, id)));
    msgpack_pack_str_with_body (out, row->station.data, row->station.size);
    msgpack_pack_str_with_body (out, row->record.data, row->record.size);
}

char *outcomes_pack (const struct outcome_row *rows, size_t count, size_t *ret_size)
{
    enum { HEAD = 8, EACH = 2 * IDENT_SIZE + 8 };
    msgpack_sbuffer buffer;
    msgpack_packer out;
    size_t room = HEAD;
    for (size_t i = 0; i < count; i++)
        room += EACH + rows[i].station.size + rows[i].record.size;
    start_packing (&out, &buffer, room);
    msgpack_pack_array (&out, count);
    for (size_t i = 0; i < count; i++)
        pack_outcome (&out, &rows[i]);
    *ret_size = buffer.size;
    return msgpack_sbuffer_release (&buffer);
}
