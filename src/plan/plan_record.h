// The stored record: one table of its fields for the writer and both parsers. Private to the files
// of the plan's JSON.
#pragma once

#include "json_scan.h"
#include "plan_json.h"

enum width { WIDTH_8, WIDTH_32, WIDTH_64 }; // bits of a struct member
enum presence { ALWAYS, RARE };             // a rare field is not written while it is 0

// How a field is written and parsed. INTEGER, SPAN (struct span) and WORDS (char *) are members of
// struct plan. plan_parse_stored reads the kinds in this order.
enum record_field_kind { INTEGER, SPAN, STEP, MESSAGES, VOTE, WORDS, POLICY, NO_KEEP, PLAN_ID };

// The fields, in the order of the public text.
enum field_name {
    FIELD_PLAN_ID,
    FIELD_REQUEST_ID,
    FIELD_STATION,
    FIELD_CALLER,
    FIELD_DESCRIPTION,
    FIELD_REVISION,
    FIELD_PLAN_TYPE,
    FIELD_PLAN_VALUE,
    FIELD_PLAN_REPET,
    FIELD_REAL_REPET,
    FIELD_LAST_STATE,
    FIELD_PLAN_TIME,
    FIELD_EXEC_TIME,
    FIELD_BASE_TIME,
    FIELD_PLAN_STATE,
    FIELD_ADD_TIME,
    FIELD_SKIP_SET,
    FIELD_SKIP_NUM,
    FIELD_SKIP_WAIT,
    FIELD_EXTRA,
    FIELD_POLL,
    FIELD_ERROR_COUNT,
    FIELD_EXEC_ID,
    FIELD_MISSED,
    FIELD_TRIES,
    FIELD_VERDICT,
    FIELD_ERROR_INFO,
    FIELD_REMARK,
    FIELD_STOPPED,
    FIELD_RUN_WITH,
    FIELD_SOURCE,
    FIELD_HELD,
    FIELD_NO_KEEP,
    FIELD_VOTE,
    FIELD_FLOW_RUN,
    FIELD_STEP,   // in the public text an object, "flow"
    FIELD_POLICY, // a member for each field of the policy
    PUBLIC_FIELDS,
    FIELD_MESSAGES = PUBLIC_FIELDS,
    FIELDS
};

// One field of the record.
struct record_field {
    const char *name;
    struct json_name written;
    enum record_field_kind kind;
    size_t offset;    // of the member in struct plan; 0 if the kind implies it
    enum width width; // of an INTEGER
    int64_t min, max; // of an INTEGER; WORDS: at most `max` bytes are kept
    enum presence presence;
    uint8_t padded; // bytes to which spaces fill up the number in the stored text; 0 = none
};

extern const struct record_field plan_record[FIELDS];

// The fields in the order of the stored text: the head (plan_json.h), then as in the public text.
extern const uint8_t plan_record_order[FIELDS];

// Get the struct member of an INTEGER. Inline, as each plan has about twenty of them.
static inline int64_t record_get_integer (const struct plan *self, const struct record_field *field)
{
    const uint8_t *at = (const uint8_t *)self + field->offset;
    if (field->width == WIDTH_8)
        return *at;
    if (field->width == WIDTH_64) {
        int64_t wide;
        memcpy (&wide, at, sizeof wide);
        return wide;
    }
    int32_t narrow;
    memcpy (&narrow, at, sizeof narrow);
    return narrow;
}

// Set the struct member of an INTEGER; the value is within the field's bounds.
static inline void record_set_integer (struct plan *self, const struct record_field *field,
                                       int64_t value)
{
    uint8_t *at = (uint8_t *)self + field->offset;
    int32_t narrow = (int32_t)value;
    if (field->width == WIDTH_8)
        *at = (uint8_t)value;
    else if (field->width == WIDTH_64)
        memcpy (at, &value, sizeof value);
    else
        memcpy (at, &narrow, sizeof narrow);
}

// Consume the next member's name if it is a field's. The search starts at `*next`, an index in
// plan_record_order, which is then moved past the field. False: it is not a field, or one of the
// policy. Inline, like record_get_integer.
static inline bool record_scan_name (struct json_scan *scan, size_t *next, enum field_name *ret)
{
    size_t place = *next;
    for (size_t i = 0; i < FIELDS; i++, place++) {
        place = place == FIELDS ? 0 : place;
        const struct record_field *field = &plan_record[plan_record_order[place]];
        if (field->kind == POLICY || !json_scan_name (scan, &field->written))
            continue;
        *next = place + 1;
        *ret = plan_record_order[place];
        return true;
    }
    return false;
}

// Whether the plan's value is in the range of its type. The bounds of plan_value do not ensure it,
// and schedule functions assert it.
bool record_value_fits (const struct plan *self);
