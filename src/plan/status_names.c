#include "status_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "plan.h"

const char *json_state_name (const json_t *state)
{
    json_int_t number = json_is_integer (state)  ? json_integer_value (state)
                        : json_is_string (state) ? plan_state_parse (json_string_value (state))
                                                 : -1;
    if (number < 0 || number >= PLAN_STATES)
        return NULL;
    return number == PLAN_ERROR ? "error" : plan_state_word ((enum plan_state)number);
}

// The error statuses with a word of their own.
static const struct {
    uint8_t status;
    const char *name;
} status_rows[] = {
    {ZERO_STATUS_FAILED_ID, "failed"},       {ZERO_STATUS_NOT_WORKER_ID, "not_taken"},
    {ZERO_STATUS_TIMEOUT_ID, "timeout"},     {ZERO_STATUS_CANCELLED_ID, "cancelled"},
    {ZERO_STATUS_MISSED_ID, "missed"},       {ZERO_STATUS_SEND_ERROR_ID, "send_error"},
    {ZERO_STATUS_RECV_ERROR_ID, "in_doubt"},
};

// The word of an error status; NULL: it has none of its own.
static const char *error_name (int64_t status)
{
    for (size_t i = 0; i < sizeof status_rows / sizeof *status_rows; i++)
        if (status_rows[i].status == status)
            return status_rows[i].name;
    return NULL;
}

int64_t json_status_number (const json_t *status)
{
    if (json_is_integer (status))
        return json_integer_value (status);
    for (int i = 1; json_is_string (status) && i <= UINT8_MAX; i++)
        if (status_name ((uint8_t)i) &&
            strcmp (status_word ((uint8_t)i), json_string_value (status)) == 0)
            return i;
    return 0;
}

const char *json_status_name (const json_t *status)
{
    int64_t number = json_status_number (status);
    if (number <= 0 || number > UINT8_MAX)
        return NULL;
    if (number < ZERO_STATUS_ERROR_FLAG)
        return "ok";
    return error_name (number) ? error_name (number) : "failed";
}

bool json_status_ends (const json_t *status, bool runs)
{
    int64_t number = json_status_number (status);
    // A heartbeat (RUNING) is stored as a status, and remains when the plan is paused. Without
    // heartbeats, the status during a run is still the success of the previous run.
    return number > 0 && number <= UINT8_MAX && number != ZERO_STATUS_RUNING_ID &&
           (!runs || number >= ZERO_STATUS_ERROR_FLAG);
}

const json_t *json_last_status (const json_t *plan)
{
    const json_t *status = json_object_get (plan, "last_state");
    const char *state = json_state_name (json_object_get (plan, "plan_state"));
    bool runs = state && strcmp (state, plan_state_word (PLAN_EXECUTE)) == 0;
    return json_status_ends (status, runs) ? status : NULL;
}

bool json_status_has_name (int64_t status)
{
    return status < ZERO_STATUS_ERROR_FLAG || error_name (status);
}

const char *json_verdict_name (const json_t *verdict)
{
    json_int_t number = json_integer_value (verdict);
    return number > 0 && number < VERDICTS ? plan_verdict_name ((enum plan_verdict)number)
                                           : json_string_value (verdict);
}

const char *json_status_code (uint8_t status, char out[JSON_CODE_SIZE])
{
    const char *name = status_name (status);
    snprintf (out, JSON_CODE_SIZE, "%s", name ? name : "error");
    for (char *at = out; *at; at++)
        *at = (char)tolower ((unsigned char)*at);
    return out;
}
