// The call of a step: its text in a plan's record, read again, and its object in a dispatch.
#include "plan_step.h"

#include "rows.h"

static const struct step_row {
    const char *name;
    struct plan_step step;
    const char *text, *object;
} step_rows[] = {
    {"a call",
     {.run = 0x6615a87ecc168,
      .step = 1,
      .item = -1,
      .kind = STEP_CALL,
      .version = 1,
      .flow = BYTES ("chain"),
      .name = BYTES ("s1")},
     "c 6615a87ecc168 1 -1 0 1 chain s1",
     "{\"name\":\"chain\",\"version\":1,\"run\":\"6615a87ecc168\",\"step\":\"s1\",\"generation\":0,"
     "\"undo\":false}"},
    {"an item's undo",
     {.run = INT64_MAX,
      .step = UINT32_MAX,
      .item = INT32_MAX,
      .generation = UINT16_MAX,
      .kind = STEP_UNDO,
      .version = INT32_MAX,
      .flow = BYTES ("f"),
      .name = BYTES ("n")},
     "u 7fffffffffffffff 4294967295 2147483647 65535 2147483647 f n",
     "{\"name\":\"f\",\"version\":2147483647,\"run\":\"7fffffffffffffff\",\"step\":\"n\","
     "\"item\":2147483647,\"generation\":65535,\"undo\":true}"},
    {"a sub-flow",
     {.run = 1,
      .item = 0,
      .generation = 2,
      .kind = STEP_FLOW,
      .version = 3,
      .flow = BYTES ("outer"),
      .name = BYTES ("in"),
      .fire = -1,
      .created = 1795891315,
      .batch = INT64_MIN,
      .depth = 16},
     "f 1 0 0 2 3 outer in -1 1795891315 -9223372036854775808 16",
     "{\"name\":\"outer\",\"version\":3,\"run\":\"1\",\"step\":\"in\",\"item\":0,\"generation\":2,"
     "\"undo\":false}"},
};

static void a_call_is_written_and_read_again (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (step_rows); i++) {
        const struct step_row *row = &step_rows[i];
        const struct plan_step *want = &row->step;
        char text[PLAN_STEP_SIZE];
        struct plan_step got;
        size_t size = plan_step_text (want, text);
        text[size] = '\0';
        CHECK_TEXT (row->name, text, row->text);
        CHECK (row->name, plan_step_parse (span_of (text, size), &got));
        CHECK (row->name, got.run == want->run && got.step == want->step);
        CHECK (row->name, got.item == want->item && got.generation == want->generation);
        CHECK (row->name, got.kind == want->kind && got.version == want->version);
        CHECK (row->name, span_equal (got.flow, want->flow) && span_equal (got.name, want->name));
        CHECK (row->name, got.fire == want->fire && got.created == want->created);
        CHECK (row->name, got.batch == want->batch && got.depth == want->depth);
    }
}

static void a_dispatch_has_it_as_an_object (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (step_rows); i++) {
        struct json_text text;
        size_t size;
        json_text_start (&text, 0);
        plan_step_write (&step_rows[i].step, &text);
        char *got = json_text_end (&text, &size);
        CHECK_TEXT (step_rows[i].name, got, step_rows[i].object);
        free (got);
    }
}

static void what_is_no_call_is_refused (void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "c",
                                        "x 1 0 -1 0 1 f s",
                                        "c 0 0 -1 0 1 f s",
                                        "c 1 -1 -1 0 1 f s",
                                        "c 1 0 -2 0 1 f s",
                                        "c 1 0 -1 65536 1 f s",
                                        "c 1 0 -1 0 0 f s",
                                        "c 1 0 -1 0 1 f",
                                        "c 1 0 -1 0 1 f s more",
                                        "f 1 0 -1 0 1 f s 0 0 0",
                                        "f 1 0 -1 0 1 f s 0 0 0 256"};
    struct plan_step got;
    for (size_t i = 0; i < ROWS (texts); i++)
        CHECK (texts[i], !plan_step_parse (span_text (texts[i]), &got));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_call_is_written_and_read_again),
        cmocka_unit_test (a_dispatch_has_it_as_an_object),
        cmocka_unit_test (what_is_no_call_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
