#include "called.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "json.h"
#include "message.h"
#include "rfc3339.h"
#include "utf8.h"
#include "zones.h"

enum { SECOND_US = 1000000, TITLE_MAX = 256 };

json_t *called_hex (uint64_t id)
{
    char text[IDENT_SIZE];
    return json_string (ident_text (id, text));
}

json_t *called_status (uint8_t status)
{
    char word[64];
    const char *text = status_name (status);
    size_t at = 0;
    for (; text && text[at] && at < sizeof word - 1; at++)
        word[at] = (char)tolower ((unsigned char)text[at]);
    return at ? json_stringn (word, at) : NULL;
}

json_t *called_instant (int64_t time_us)
{
    char seconds[RFC3339_SIZE];
    rfc3339_format (time_us / SECOND_US, seconds);
    return json_sprintf ("%.19s.%03dZ", seconds, (int)(time_us % SECOND_US / 1000));
}

// -- the plan

// The title of the called plan. It must not start with the plan's own: its subscribers want only
// the plan's results.
static json_t *called_title (const struct plan_call *call)
{
    char text[TITLE_MAX + 32];
    size_t size = (size_t)snprintf (text, sizeof text, "%s", call->prefix);
    struct span from = call->source->description;
    if (call->title)
        return json_string (call->title);
    from.size = utf8_text_size (from);
    return json_stringn (text, span_put (text, size, utf8_cut (from, TITLE_MAX)));
}

static json_t *plan_frame (const struct plan_call *call)
{
    static const char *const inherited[] = {"tenant", "creator"};
    json_t *frame = json_pack ("{s:o, s:i, s:i}", "description", called_title (call), "plan_type",
                               SCHEDULE_NONE, "plan_repet", 1);
    const struct policy *policy = call->source->policy;
    for (size_t i = 0; policy && i < sizeof inherited / sizeof *inherited; i++) {
        json_t *value = json_object_get (policy->fields, inherited[i]);
        if (value)
            json_object_set (frame, inherited[i], value);
    }
    json_object_update (frame, (json_t *)(uintptr_t)call->fields);
    return frame;
}

struct plan *called_plan (struct station *self, const struct plan_call *call)
{
    struct plan_fields fields;
    struct reason reason;
    struct misses misses;
    struct message message;
    uint8_t desc[DESC_SIZE_MAX];
    struct span frames[MESSAGE_FRAMES_MAX];
    const struct target *target = station_target (self, call->target);
    json_t *object = plan_frame (call);
    struct plan *plan = NULL;
    // The default limits apply, not those of the settings.
    if (!plan_frame_read (object, &plan_limits_default, &fields, &reason)) {
        char *frame = json_write (object);
        if (target && target_type (target) == TARGET_VOTE)
            fields.vote.need = VOTE_ALL;
        message_start (&message, ZERO_BYTE_COMMAND_PLAN);
        message_add (&message, ZERO_FRAME_PLAN, span_text (frame));
        message_add (&message, ZERO_FRAME_STATION_ID, call->target);
        for (size_t i = 0; i < call->frame_count; i++)
            message_add (&message, call->frames[i].type, call->frames[i].bytes);
        message_layout (&message, desc, frames);
        message.desc_bytes = frames[0];
        plan = plan_new_submitted (call->id, &message, call->source->caller, &fields,
                                   station_now (self));
        plan->revision = station_revision ();
        if (engine_submit (plan, zones_of (self, plan), station_now (self), &misses, &reason))
            plan_destroy (&plan);
        free (frame);
        plan_fields_clear (&fields);
    }
    json_decref (object);
    return plan;
}
