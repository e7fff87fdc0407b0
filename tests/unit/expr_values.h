// Values for expressions under test: variables as JSON and as times, and those of a run.
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"

struct time_row {
    const char *name, *text; // the name and value of a member of idc
};

static const struct time_row time_rows[] = {
    {"j", "2024-01-31"},
    {"f", "2024-02-10T08:30"},
    {"g", "2023-02-10T08:30"},
    {"m", "2024-03-01"},
    {"k", "2024-03-10"},
    {"T", "2024-03-31T08:30"},
    {"A", "2024-04-01T00:10"},
    {"C", "2024-01-05"},
    {"shouldFireTime", "2024-03-31T08:30"},
    {"actualFireTime", "2024-04-01T00:10"},
    {"createTime", "2024-01-05"},
    {"loadDate", "2024-03-30"},
};

static const char values_json[] =
    "{\"strParam\": \"\u65e5\u672c\u8a9ex\", \"p1\": 3, \"p2\": 12, \"n\": null, \"xs\": [1, 2, 3, "
    "4],"
    " \"o\": {\"a\": 1, \"b-c\": 2}, \"rows\": [{\"id\": 7, \"ok\": true}, {\"id\": 9, \"ok\": "
    "false}],"
    " \"input\": {\"order\": 5, \"amount\": 12.5, \"list\": [], \"deep\": {\"a\": [1, {\"b\": "
    "null}]}},"
    " \"item\": {\"path\": \"/a\"}, \"index\": 7, \"result\": {\"done\": true},"
    " \"steps.load.value\": {\"rows\": 17}, \"steps.load.state\": \"finished\","
    " \"steps.my-step.value\": [1], \"run.id\": \"1f\", \"run.flow\": \"etl\", \"run.version\": 2,"
    " \"run.outcome\": \"failed\", \"run.failed\": [\"load\"], \"self.value\": {\"booking\": "
    "\"B1\"},"
    " \"self.state\": \"finished\", \"big\": 12345678901234567890}";

// `context` is an object as above.
static inline int values_resolve (void *context, const struct expr_ref *ref, struct expr_value *ret,
                                  struct reason *reason)
{
    char name[128];
    bool is_step = ref->kind == EXPR_REF_STEP;
    snprintf (name, sizeof name, "%s%s%s%s", is_step ? "steps." : "", ref->name,
              ref->member ? "." : "", ref->member ? ref->member : "");
    const char *wanted = ref->kind == EXPR_REF_IDC ? ref->member : name;
    for (size_t i = 0; i < sizeof time_rows / sizeof *time_rows; i++) {
        int64_t local;
        if (strcmp (wanted, time_rows[i].name) == 0) {
            if (!expr_time_parse (span_text (time_rows[i].text), NULL, &local))
                return EXPR_UNKNOWN;
            *ret = expr_of_time (local);
            return 0;
        }
    }
    const json_t *value = json_object_get (context, name);
    if (!value && is_step && strcmp (ref->name, "late") == 0) {
        reason_set (reason, "missing: late has not ended");
        return EXPR_MISSING;
    }
    if (!value)
        return EXPR_UNKNOWN;
    *ret = expr_of_json (value);
    return 0;
}

// The value of an expression as text: JSON, but strings and times without quotes; or "! REASON".
// Free it.
static inline char *values_evaluate (json_t *values, struct span text, const struct zone *zone,
                                     uint32_t *steps)
{
    struct expr_error error = {.code = 0};
    struct expr *expr = NULL;
    struct expr_value value;
    char *got = NULL;
    size_t size;
    struct expr_memory *memory = expr_memory_new ();
    struct expr_env env = {
        .resolve = values_resolve, .context = values, .zone = zone, .steps = steps};
    int rc = expr_compile (text, &expr, &error);
    if (!rc)
        rc = expr_evaluate (expr, &env, memory, &value, &error);
    if (!rc && (value.type == EXPR_STRING || value.type == EXPR_TIME)) {
        char buffer[EXPR_SCALAR_SIZE];
        struct span plain;
        expr_text (&value, buffer, &plain);
        got = strndup ((const char *)plain.data, plain.size);
    } else if (!rc) {
        rc = expr_write_json (&value, EXPR_STRING_MAX, &got, &size, &error);
    }
    if (rc) {
        assert (rc == (int)error.code);
        if (asprintf (&got, "! %s", error.reason.text) < 0)
            abort ();
    }
    expr_destroy (&expr);
    expr_memory_destroy (&memory);
    return got;
}
