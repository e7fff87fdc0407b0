// The stored record: one table of its fields for the writer and both parsers. Private to the files
// of the plan's JSON.
#pragma once

#include "plan_json.h"

enum width { WIDTH_8, WIDTH_32, WIDTH_64 };
enum presence { ALWAYS, RARE }; // a rare field is not written while it is 0

enum record_field_kind { INTEGER, SPAN, PLAN_ID, NO_KEEP, VOTE, WORDS, STEP, POLICY, MESSAGES };

// In the order of the public text.
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
    FIELD_POLICY, // members, not one
    PUBLIC_FIELDS,
    FIELD_MESSAGES = PUBLIC_FIELDS,
    FIELDS
};

// One field of the record.
struct record_field {
    const char *name;
    struct json_name written;
    enum record_field_kind kind;
    size_t offset;    // of INTEGER and SPAN
    enum width width; // of an INTEGER's member
    int64_t min, max;
    enum presence presence;
    uint8_t padded; // in the stored text: padded with spaces to this width
};

extern const struct record_field plan_record[FIELDS];

// The order of the stored text: the head, and then as in public.
extern const uint8_t plan_record_order[FIELDS];

// Read and write the struct member of an INTEGER. Inline, as each plan has about twenty of them.
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

// Whether the plan's type accepts its value, which no single field shows; the schedule asserts on
// it.
bool record_value_fits (const struct plan *self);
