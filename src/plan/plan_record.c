#include "plan_record.h"

const struct record_field plan_record[FIELDS] = {
#define INTEGER_FIELD(field, member, ...)                                                          \
    {                                                                                              \
        field, JSON_NAME (field), INTEGER, offsetof (struct plan, member), __VA_ARGS__             \
    }
#define SPAN_FIELD(field, member)                                                                  \
    {                                                                                              \
        field, JSON_NAME (field), SPAN, offsetof (struct plan, member), 0, 0, 0, 0, 0              \
    }
#define WORDS_FIELD(field, member, max)                                                            \
    {                                                                                              \
        field, JSON_NAME (field), WORDS, offsetof (struct plan, member), 0, 0, max, 0, 0           \
    }
#define OTHER_FIELD(field, kind)                                                                   \
    {                                                                                              \
        field, JSON_NAME (field), kind, 0, 0, 0, 0, 0, 0                                           \
    }
    [FIELD_PLAN_ID] = OTHER_FIELD ("plan_id", PLAN_ID),
    [FIELD_REQUEST_ID] = SPAN_FIELD ("request_id", request_id),
    [FIELD_STATION] = SPAN_FIELD ("station", station),
    [FIELD_CALLER] = SPAN_FIELD ("caller", caller),
    [FIELD_DESCRIPTION] = SPAN_FIELD ("description", description),
    [FIELD_REVISION] = INTEGER_FIELD ("revision", revision, WIDTH_64, 0, INT64_MAX, ALWAYS, 0),
    [FIELD_PLAN_TYPE] =
        INTEGER_FIELD ("plan_type", schedule.type, WIDTH_32, 0, SCHEDULE_TYPES - 1, ALWAYS, 0),
    [FIELD_PLAN_VALUE] = INTEGER_FIELD ("plan_value", schedule.value, WIDTH_32, SCHEDULE_VALUE_MIN,
                                        SCHEDULE_VALUE_MAX, ALWAYS, 0),
    [FIELD_PLAN_REPET] =
        INTEGER_FIELD ("plan_repet", schedule.repeat, WIDTH_32, INT32_MIN, INT32_MAX, ALWAYS, 0),
    [FIELD_REAL_REPET] =
        INTEGER_FIELD ("real_repet", real_repet, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_LAST_STATE] = INTEGER_FIELD ("last_state", last_state, WIDTH_8, 0, 255, ALWAYS, 0),
    [FIELD_PLAN_TIME] =
        INTEGER_FIELD ("plan_time", plan_time, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_EXEC_TIME] = INTEGER_FIELD ("exec_time", exec_time, WIDTH_64, 0, SCHEDULE_TIME_MAX,
                                       ALWAYS, PLAN_EXEC_TIME_WIDTH),
    [FIELD_BASE_TIME] =
        INTEGER_FIELD ("base_time", schedule.base_time, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_PLAN_STATE] =
        INTEGER_FIELD ("plan_state", state, WIDTH_32, 0, PLAN_STATES - 1, ALWAYS, 0),
    [FIELD_ADD_TIME] =
        INTEGER_FIELD ("add_time", schedule.received, WIDTH_64, 0, SCHEDULE_TIME_MAX, ALWAYS, 0),
    [FIELD_SKIP_SET] = INTEGER_FIELD ("skip_set", skip_set, WIDTH_64, 0, INT32_MAX, ALWAYS, 0),
    [FIELD_SKIP_NUM] = INTEGER_FIELD ("skip_num", skip_num, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_SKIP_WAIT] = INTEGER_FIELD ("skip_wait", skip_wait, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_EXTRA] = INTEGER_FIELD ("extra", extra, WIDTH_32, 0, PLAN_STATES - 1, RARE, 0),
    [FIELD_POLL] = INTEGER_FIELD ("poll", poll, WIDTH_64, 0, INT64_MAX, RARE, 0),
    [FIELD_ERROR_COUNT] =
        INTEGER_FIELD ("error_count", error_count, WIDTH_64, 0, INT64_MAX / 4, ALWAYS, 0),
    [FIELD_EXEC_ID] =
        INTEGER_FIELD ("exec_id", exec_id, WIDTH_64, 0, INT64_MAX, ALWAYS, PLAN_EXEC_ID_WIDTH),
    [FIELD_MISSED] = INTEGER_FIELD ("missed", missed, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_TRIES] = INTEGER_FIELD ("tries", tries, WIDTH_64, 0, INT64_MAX / 4, RARE, 0),
    [FIELD_VERDICT] = INTEGER_FIELD ("verdict", verdict, WIDTH_32, 0, VERDICTS - 1, RARE, 0),
    [FIELD_ERROR_INFO] = WORDS_FIELD ("error_info", error_info, PLAN_WORDS_MAX),
    [FIELD_REMARK] = WORDS_FIELD ("remark", remark, PLAN_WORDS_MAX),
    [FIELD_STOPPED] = WORDS_FIELD ("stopped", stopped, PLAN_WORDS_MAX),
    [FIELD_RUN_WITH] = WORDS_FIELD ("run_with", run_with, PLAN_RUN_WITH_MAX),
    [FIELD_SOURCE] = WORDS_FIELD ("source", source, STATION_NAME_MAX),
    [FIELD_HELD] = INTEGER_FIELD ("held", held, WIDTH_8, 0, 1, RARE, 0),
    [FIELD_NO_KEEP] = OTHER_FIELD ("no_keep", NO_KEEP),
    [FIELD_VOTE] = OTHER_FIELD ("vote", VOTE),
    [FIELD_FLOW_RUN] = INTEGER_FIELD ("flow_run", flow_run, WIDTH_64, 0, INT64_MAX, RARE, 0),
    [FIELD_STEP] = {"step", JSON_NAME ("step"), STEP, offsetof (struct plan, step), 0, 0, 0, 0, 0},
    [FIELD_POLICY] = OTHER_FIELD ("", POLICY),
    [FIELD_MESSAGES] = OTHER_FIELD ("messages", MESSAGES),
#undef INTEGER_FIELD
#undef SPAN_FIELD
#undef WORDS_FIELD
#undef OTHER_FIELD
};

const uint8_t plan_record_order[FIELDS] = {
    FIELD_EXEC_ID,    FIELD_EXEC_TIME,  FIELD_PLAN_STATE,  FIELD_REVISION,    FIELD_CALLER,
    FIELD_PLAN_ID,    FIELD_REQUEST_ID, FIELD_STATION,     FIELD_DESCRIPTION, FIELD_PLAN_TYPE,
    FIELD_PLAN_VALUE, FIELD_PLAN_REPET, FIELD_REAL_REPET,  FIELD_LAST_STATE,  FIELD_PLAN_TIME,
    FIELD_BASE_TIME,  FIELD_ADD_TIME,   FIELD_SKIP_SET,    FIELD_SKIP_NUM,    FIELD_SKIP_WAIT,
    FIELD_EXTRA,      FIELD_POLL,       FIELD_ERROR_COUNT, FIELD_MISSED,      FIELD_TRIES,
    FIELD_VERDICT,    FIELD_ERROR_INFO, FIELD_REMARK,      FIELD_STOPPED,     FIELD_RUN_WITH,
    FIELD_SOURCE,     FIELD_HELD,       FIELD_NO_KEEP,     FIELD_VOTE,        FIELD_FLOW_RUN,
    FIELD_STEP,       FIELD_POLICY,     FIELD_MESSAGES,
};

_Static_assert(sizeof (enum schedule_type) == 4 && sizeof (enum plan_state) == 4,
               "enums of the record are read and written as 32 bits");

bool record_value_fits (const struct plan *self)
{
    struct value_range range = schedule_value_range (self->schedule.type);
    return self->schedule.value >= range.min && self->schedule.value <= range.max;
}

bool plan_has_field (const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp (plan_record[i].name, name) == 0)
            return true;
    return false;
}
