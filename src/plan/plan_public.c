#include "plan_public.h"

#include <stdlib.h>

#include "callback_rule.h"
#include "codes.h"
#include "desc.h"
#include "memory.h"
#include "plan_record.h"
#include "plan_step.h"

// Add the plan's position among its iterations, which is derived and never stored.
static void set_iteration_place (json_t *object)
{
    struct policy *policy;
    struct reason reason;
    int64_t runs = 0, skips = 0;
    if (!policy_read_from (object, &policy, &reason))
        return;
    int64_t cycle = policy_cycle (policy);
    policy_destroy (&policy);
    if (!cycle || !json_get_integer (object, "real_repet", 0, INT64_MAX / 4, &runs) ||
        !json_get_integer (object, "skip_num", 0, INT64_MAX / 4, &skips))
        return;
    struct run_place place = policy_run_place (runs + skips, cycle);
    json_object_set_new (object, "current_iteration", json_integer (place.iteration));
    json_object_set_new (object, "current_cycle", json_integer (place.cycle));
}

// The index among `messages` of its first frame of this type; 0: it has none.
static size_t stored_frame_index (const json_t *stored, uint8_t type)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct desc desc;
    const json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    if (!json_to_desc (json_array_get (messages, DESCRIPTION), json_array_size (messages) - FIRST,
                       &desc))
        return 0;
    size_t at = desc_find (&desc, type);
    return at < desc.count ? FIRST + at : 0;
}

// The COMMAND frame's value among `messages`; NULL: there is none.
static const json_t *stored_command (const json_t *stored)
{
    size_t at = stored_frame_index (stored, ZERO_FRAME_COMMAND);
    const json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    return at ? json_array_get (messages, at) : NULL;
}

void plan_mask_stored (json_t *stored)
{
    struct reason ignored;
    json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    json_t *callback = json_object_get (stored, "callback"), *object;
    if (!callback)
        return;
    struct span text = json_span (callback);
    size_t at = stored_frame_index (stored, ZERO_FRAME_PLAN), size = 0;
    object = json_is_string (callback) ? json_read_object (text, &ignored) : json_incref (callback);
    json_t *masked = object ? callback_rule_masked (object) : json_object ();
    json_decref (object);
    json_object_set_new (stored, "callback", masked);
    if (at) {
        const json_t *frame = json_array_get (messages, at);
        uint8_t *bytes = memory_new (json_frame_size (frame) + 1);
        bool read = json_to_frame (frame, bytes, &size);
        json_array_set_new (messages, at, callback_masked_frame (span_of (bytes, read ? size : 0)));
        free (bytes);
    }
}

void plan_mask_callback (json_t *stored)
{
    size_t at = stored_frame_index (stored, ZERO_FRAME_ARG);
    json_t *messages = json_object_get (stored, plan_record[FIELD_MESSAGES].name);
    if (at)
        json_array_set_new (messages, at, callback_masked_url (json_array_get (messages, at)));
}

// Replace the stored call of a flow's step by its public form.
static void replace_stored_step (json_t *stored)
{
    const json_t *text = json_object_get (stored, plan_record[FIELD_STEP].name);
    struct plan_step step;
    struct json_text shown;
    size_t size;
    if (plan_step_parse (json_span (text), &step)) {
        json_text_start (&shown, PLAN_STEP_SIZE);
        plan_step_write (&step, &shown);
        char *object = json_text_end (&shown, &size);
        json_object_set_new (stored, "flow", json_loads (object, 0, NULL));
        free (object);
    }
    json_object_del (stored, plan_record[FIELD_STEP].name);
}

// Convert a stored tree to the public form, and append it: the fields in their order, then all
// other members.
static void write_public_tree (json_t *stored, struct json_text *text)
{
    const char *name;
    json_t *value;
    size_t written = 0;
    replace_stored_step (stored);
    json_object_del (stored, plan_record[FIELD_MESSAGES].name);
    policy_restore_objects (stored);
    plan_mask_stored (stored);
    set_iteration_place (stored);
    json_text_item (text);
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++) {
        if (!(value = json_object_get (stored, plan_record[i].name)))
            continue;
        json_text_name (text, &plan_record[i].written);
        json_text_value (text, value);
        written++;
    }
    if (written == json_object_size (stored))
        return;
    json_object_foreach (stored, name, value)
    {
        if (!plan_has_field (name))
            json_text_member (text, name, value);
    }
}

bool plan_convert_public (uint64_t id, struct span stored, size_t command_max,
                          struct json_text *text)
{
    struct reason ignored;
    json_t *plan = json_read_object (stored, &ignored);
    if (!plan)
        return false;
    json_t *command = json_incref ((json_t *)(uintptr_t)stored_command (plan));
    const json_t *encoded = json_object_get (command, "b64");
    json_object_set_new (plan, "plan_id", json_integer ((json_int_t)id));
    json_object_del (plan, "command"); // an operator may have added it
    json_object_del (plan, "progress");
    write_public_tree (plan, text);
    if (command && json_string_length (encoded ? encoded : command) <= command_max)
        json_text_member (text, "command", command);
    json_decref (command);
    json_decref (plan);
    return true;
}

// -- without a tree

enum { POLICY_FIELDS_MAX = 32 }; // fields of a policy

// The parts of a stored text, borrowed from it.
struct public_parts {
    struct span fields[FIELDS];            // the values of plan_record; empty: the plan has none
    struct span policy[POLICY_FIELDS_MAX]; // the policy's fields, each `"name":value`
    size_t policy_count;
    size_t next; // index in plan_record_order of the field that is expected next
};

// Whether a field of the policy is copied as it is stored. The others need a conversion: objects
// that are stored as strings, and cycle and iteration, which add the plan's position in them.
static bool is_copied_policy_field (struct span name)
{
    static const char *const names[] = {
#define TEXT(name)
#define PLAIN(name)              #name,
#define FIELD(name, stored, ...) stored (name)
#include "policy_fields.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (span_is (name, names[i]))
            return !span_is (name, "cycle") && !span_is (name, "iteration");
    return false;
}

// Whether plan_convert_public would accept the value too: a nested one must have no duplicate
// names, and not be too deep inside the plan's object.
static bool is_convertible_value (struct span value)
{
    struct reason ignored;
    if (value.data[0] != '{' && value.data[0] != '[')
        return true;
    json_t *tree = (value.data[0] == '{' ? json_read_object : json_read_array) (value, &ignored);
    bool convertible = tree && json_depth (tree) < JSON_DEPTH_MAX;
    json_decref (tree);
    return convertible;
}

// Consume the next member if it is a field of plan_record. False: plan_convert_public must decide.
static bool take_record_field (struct public_parts *self, struct json_scan *scan, bool *ret_found)
{
    enum field_name field;
    *ret_found = record_scan_name (scan, &self->next, &field);
    return !*ret_found || (field != FIELD_STEP && !self->fields[field].size &&
                           json_scan_value (scan, &self->fields[field]) &&
                           (field == FIELD_MESSAGES || is_convertible_value (self->fields[field])));
}

// Consume the next member, a field of the policy. False: plan_convert_public must decide.
static bool take_policy_field (struct public_parts *self, struct json_scan *scan)
{
    struct span name, value;
    json_scan_space (scan);
    const uint8_t *start = scan->at;
    if (self->policy_count == POLICY_FIELDS_MAX || !json_scan_any_name (scan, &name) ||
        !is_copied_policy_field (name) || !json_scan_value (scan, &value) ||
        !is_convertible_value (value))
        return false;
    for (size_t i = 0; i < self->policy_count; i++) // the name may be duplicate
        if (self->policy[i].size > name.size &&
            memcmp (self->policy[i].data, start, name.size + 2) == 0)
            return false;
    self->policy[self->policy_count++] = span_of (start, (size_t)(scan->at - start));
    return true;
}

// Split a stored text into its parts. False: plan_convert_public must decide.
static bool split_stored (struct public_parts *self, struct span stored)
{
    bool found;
    struct json_scan scan = json_scan_of (stored);
    if (!json_scan_take (&scan, '{'))
        return false;
    do {
        if (!take_record_field (self, &scan, &found) ||
            (!found && !take_policy_field (self, &scan)))
            return false;
    } while (json_scan_take (&scan, ','));
    return json_scan_take (&scan, '}') && json_scan_ended (&scan);
}

// Whether a value has the form of a frame: a string, or {"b64": "..."}.
static bool has_frame_form (struct span value)
{
    struct span name, text;
    struct json_scan scan = json_scan_of (value);
    return value.data[0] == '"' ||
           (json_scan_take (&scan, '{') && json_scan_any_name (&scan, &name) &&
            span_is (name, "b64") && json_scan_value (&scan, &text) && text.data[0] == '"' &&
            json_scan_take (&scan, '}'));
}

// Find the value of the COMMAND frame among `messages`; `ret` stays empty if there is none. False:
// the messages are not as a station writes them.
static bool find_command (struct span messages, struct span *ret)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct span frames[PLAN_MESSAGES_MAX];
    uint8_t bytes[2 * DESC_SIZE_MAX];
    size_t count = 0, size;
    struct desc desc;
    struct reason ignored;
    struct json_scan scan = json_scan_of (messages);
    if (!json_scan_take (&scan, '['))
        return false;
    do {
        if (count == PLAN_MESSAGES_MAX || !json_scan_value (&scan, &frames[count]) ||
            !has_frame_form (frames[count]))
            return false;
        count++;
    } while (json_scan_take (&scan, ','));
    if (count < FIRST || frames[DESCRIPTION].size > sizeof bytes)
        return false;
    scan = json_scan_of (frames[DESCRIPTION]);
    if (!json_scan_frame (&scan, bytes, &size) ||
        desc_parse (span_of (bytes, size), count - FIRST, &desc, &ignored))
        return false;
    size_t at = desc_find (&desc, ZERO_FRAME_COMMAND);
    if (at < desc.count)
        *ret = frames[FIRST + at];
    return true;
}

// Append the public form from its parts; the object is left open.
static void write_public_parts (const struct public_parts *parts, uint64_t id,
                                struct json_text *text)
{
    json_text_item (text);
    json_text_raw (text, span_of ("{", 1));
    for (size_t i = 0; i < PUBLIC_FIELDS; i++) {
        if (i == FIELD_PLAN_ID) {
            json_text_number (text, &plan_record[i].written, (int64_t)id, 0);
        } else if (parts->fields[i].size) {
            json_text_name (text, &plan_record[i].written);
            json_text_raw (text, parts->fields[i]);
        }
    }
    for (size_t i = 0; i < parts->policy_count; i++) {
        json_text_raw (text, span_of (",", 1));
        json_text_raw (text, parts->policy[i]);
    }
}

bool plan_copy_public (uint64_t id, struct span stored, size_t command_max, struct json_text *text)
{
    static const struct json_name name = JSON_NAME ("command");
    struct public_parts parts = {0};
    struct span command = {0};
    if (!split_stored (&parts, stored) || !find_command (parts.fields[FIELD_MESSAGES], &command))
        return false;
    if (command.size > command_max + 2) // decoded, it may be shorter: plan_convert_public decides
        return false;
    write_public_parts (&parts, id, text);
    if (command.size) {
        json_text_name (text, &name);
        json_text_raw (text, command);
    }
    return true;
}

bool plan_write_public (uint64_t id, struct span stored, size_t command_max, struct json_text *text)
{
    return plan_copy_public (id, stored, command_max, text) ||
           plan_convert_public (id, stored, command_max, text);
}
