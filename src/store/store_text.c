// Names and texts in the form in which Redis stores them.
#include <ctype.h>
#include <czmq.h>

#include "decimal.h"
#include "plan_json.h"
#include "store_private.h"

bool message_key_parse (struct span key, struct span *ret_station, uint64_t *ret_id)
{
    static const char prefix[] = KEY_MESSAGE;
    const size_t size = sizeof prefix - 1;
    if (key.size <= size || memcmp (key.data, prefix, size) != 0)
        return false;
    const uint8_t *colon = memrchr (key.data + size, ':', key.size - size);
    if (!colon)
        return false;
    *ret_station = span_of (key.data + size, (size_t)(colon - key.data) - size);
    return station_name_valid (*ret_station) &&
           ident_parse (span_of (colon + 1, (size_t)(key.data + key.size - colon - 1)), ret_id);
}

bool index_entry_parse (struct span entry, uint64_t *ret_id, struct span *ret_target)
{
    if (entry.size <= IDENT_SIZE)
        return false;
    *ret_target = span_of (entry.data + IDENT_SIZE, entry.size - IDENT_SIZE);
    return ident_parse (span_of (entry.data, IDENT_SIZE - 1), ret_id);
}

struct span number_word (int64_t value, char out[NUMBER_SIZE])
{
    return span_of (out, decimal_text (value, out));
}

struct span score_word (int64_t us, char out[NUMBER_SIZE])
{
    return span_of (out, score_make (out, us));
}

struct span plan_key_word (char out[PLAN_KEY_SIZE], const char *start, struct span station,
                           uint64_t plan_id)
{
    return span_of (out, plan_key_make (out, start, station, plan_id));
}

void copy_text (char *out, size_t room, struct span text)
{
    snprintf (out, room, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
}

void configure_target_limit (struct store *self, struct span target, const struct limit *limit)
{
    char name[LIMIT_NAME_MAX + 1] = "s:";
    core_configure_limit (self->core, span_of (name, span_put (name, 2, target)), limit);
}

// The field is "c:", a letter for the form of the name (t = text, b = base64), and the name as
// escaped in the message. If that is long, its hash replaces letter and name.
void caller_field_make (struct store *self, struct span caller, char out[CALLER_FIELD_MAX])
{
    enum { NAME_BYTES_MAX = 40 };
    json_text_clear (&self->text);
    json_text_frame (&self->text, caller);
    size_t size;
    char *text = json_text_end (&self->text, &size);
    char *name = *text == '"' ? text : text + sizeof "{\"b64\":" - 1;
    *name = *text == '"' ? 't' : 'b';
    size = 1 + strcspn (name + 1, "\"");
    name[size] = '\0';
    if (size <= NAME_BYTES_MAX) {
        memcpy (out, "c:", 2);
        memcpy (out + 2, name, size + 1);
        return;
    }
    zdigest_t *digest = zdigest_new ();
    zdigest_update (digest, (const byte *)name, size);
    snprintf (out, CALLER_FIELD_MAX, "c:%s", zdigest_string (digest));
    for (char *at = out + 2; *at; at++)
        *at = (char)tolower (*at);
    zdigest_destroy (&digest);
}

void message_caller_field (struct store *self, struct span message, char out[CALLER_FIELD_MAX])
{
    struct reason reason;
    struct plan *plan = plan_from_stored_json (1, message, &reason);
    out[0] = '\0'; // unknown, if the message is invalid
    if (plan)
        caller_field_make (self, plan->caller, out);
    plan_destroy (&plan);
}

struct span write_plan_message (struct store *self, const struct plan *plan)
{
    json_text_clear (&self->text);
    plan_write_stored (plan, &self->text);
    return span_of (self->text.bytes, self->text.size);
}

struct core_submission make_core_submission (struct store *self, const struct plan *plan,
                                             char caller[CALLER_FIELD_MAX])
{
    caller_field_make (self, plan->caller, caller); // before the message: it uses the same buffer
    return (struct core_submission){.target = plan->station,
                                    .id = plan->id,
                                    .message = write_plan_message (self, plan),
                                    .revision = plan->revision,
                                    .queued = plan_is_queued (plan),
                                    .due_us = plan_due_time (plan) * 1000000,
                                    .priority = plan->policy ? (int)plan->policy->priority : 0,
                                    .group = plan->policy ? span_text (plan->policy->group)
                                                          : (struct span){0},
                                    .caller = span_text (caller)};
}
