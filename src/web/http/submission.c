#include "submission.h"

#include <stdlib.h>

#include "base64.h"
#include "codes.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "plan_frame.h"
#include "routes.h"

enum { FRAMES_MAX = 28, COUNT_OF_TYPES = 256 };

static const char fields[] = "target title command args frames spec hold id";

static int add_frame (struct submission_body *self, uint8_t type, struct span bytes,
                      struct reason *reason)
{
    if (self->count == FRAMES_MAX)
        return reason_set (reason, "frames: want at most 28");
    self->frames[self->count++] = (struct zplan_frame){type, bytes.data, bytes.size};
    return 0;
}

// The frame type with this name; 0: none that a client may send.
static uint8_t frame_type_of_name (const char *name)
{
    for (int i = 1; name && i < COUNT_OF_TYPES; i++)
        if (frame_name ((uint8_t)i) && strcmp (frame_name ((uint8_t)i), name) == 0)
            return i == ZERO_FRAME_PLAN || i == ZERO_FRAME_STATION_ID || i == ZERO_FRAME_GLOBAL_ID
                       ? 0
                       : (uint8_t)i;
    return 0;
}

static int read_extra_frames (struct submission_body *self, const json_t *frames,
                              struct reason *reason)
{
    size_t i, size;
    const json_t *frame;
    uint8_t *at = self->bytes;
    json_array_foreach (frames, i, frame)
    {
        const json_t *text = json_object_get (frame, "text"), *b64 = json_object_get (frame, "b64");
        uint8_t type = frame_type_of_name (json_string_value (json_object_get (frame, "type")));
        struct span bytes = json_span (text);
        if (!type || !json_is_string (text) == !json_is_string (b64))
            return reason_set (reason, "frames: want {type, text} or {type, b64}");
        if (b64) {
            if (!base64_decode (json_span (b64), at, &size))
                return reason_set (reason, "frames: b64: want base64 with padding");
            bytes = span_of (at, size);
            at += size;
        }
        if (add_frame (self, type, bytes, reason))
            return -1;
    }
    return 0;
}

static int read_command_and_args (struct submission_body *self, struct reason *reason)
{
    const json_t *command = json_object_get (self->object, "command");
    const json_t *args = json_object_get (self->object, "args"), *arg;
    size_t i;
    if ((command && !json_is_string (command)) || (args && !json_is_array (args)))
        return reason_set (reason, "want command as a string, args as an array of strings");
    if (command && add_frame (self, ZERO_FRAME_COMMAND, json_span (command), reason))
        return -1;
    json_array_foreach (args, i, arg)
    {
        if (!json_is_string (arg))
            return reason_set (reason, "args: want strings");
        if (add_frame (self, ZERO_FRAME_ARG, json_span (arg), reason))
            return -1;
    }
    return 0;
}

static int build_plan_frame (struct submission_body *self, struct reason *reason)
{
    json_t *spec = json_object_get (self->object, "spec");
    json_t *title = json_object_get (self->object, "title");
    json_t *hold = json_object_get (self->object, "hold");
    if (!json_is_object (spec))
        return reason_set (reason, "spec: want an object");
    if (json_object_get (spec, "description") || (title && !json_is_string (title)))
        return reason_set (reason, "title: want a string, outside spec");
    json_t *plan = json_copy (spec);
    if (title)
        json_object_set (plan, "description", title);
    if (hold)
        json_object_set (plan, "hold", hold);
    self->plan = json_write (plan);
    json_decref (plan);
    return 0;
}

static int read_plan_id (struct submission_body *self, struct reason *reason)
{
    const json_t *id = json_object_get (self->object, "id");
    uint64_t number;
    if (!id)
        return 0;
    if (!json_is_string (id) || !ident_parse (json_span (id), &number))
        return reason_set (reason, "id: want 1..7fffffffffffffff in hex, as a string");
    self->id = json_string_value (id);
    return 0;
}

int submission_read (json_t *object, struct submission_body *ret, struct reason *reason)
{
    struct submission_body self = {.object = json_incref (object)};
    const json_t *frames = json_object_get (object, "frames"), *frame;
    size_t i, room = 1;
    self.target = json_string_value (json_object_get (object, "target"));
    json_array_foreach (frames, i, frame) room +=
        json_string_length (json_object_get (frame, "b64"));
    self.bytes = memory_new (room);
    int rc = route_check_names ("", fields, object, reason) ? -1 : 0;
    if (rc == 0 && !self.target)
        rc = reason_set (reason, "target: want the name of a target");
    if (rc == 0 && frames && !json_is_array (frames))
        rc = reason_set (reason, "frames: want an array");
    if (rc || read_plan_id (&self, reason) || build_plan_frame (&self, reason) ||
        read_command_and_args (&self, reason) || read_extra_frames (&self, frames, reason)) {
        submission_clear (&self);
        return -1;
    }
    *ret = self;
    return 0;
}

void submission_clear (struct submission_body *self)
{
    json_decref (self->object);
    free (self->plan);
    free (self->bytes);
    *self = (struct submission_body){0};
}

json_t *submission_changes (const json_t *patch, struct reason *reason)
{
    const json_t *spec = json_object_get (patch, "spec");
    json_t *title = json_object_get (patch, "title");
    if (route_check_names ("", "title spec", patch, reason))
        return NULL;
    if ((spec && !json_is_object (spec)) || json_object_get (spec, "revision") ||
        json_object_get (spec, "messages") || json_object_get (spec, "description")) {
        reason_set (reason, "spec: want an object with fields of a plan");
        return NULL;
    }
    json_t *changes = spec ? json_copy ((json_t *)(uintptr_t)spec) : json_object ();
    if (title)
        json_object_set (changes, "description", title);
    return changes;
}

int submission_check (const char *plan, struct reason *reason)
{
    static const struct plan_limits limits = {1 << 20, DESCRIPTION_ROOM, 16};
    struct plan_fields *read = memory_new (sizeof *read);
    int rc = plan_frame_parse (span_text (plan), &limits, read, reason);
    if (rc == 0)
        plan_fields_clear (read);
    free (read);
    return rc ? -1 : 0;
}
