// The text of an answer.
#include "answer_text.h"
#include "codes.h"
#include "rows.h"

#define LONG      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BYTES_512 LONG LONG LONG LONG LONG LONG LONG LONG

// clang-format off
static const struct row {
    const char *name;
    uint8_t status;
    const char *status_frame, *content; // NULL: there is none
    const char *text;
} rows[] = {
    {"nothing", ZERO_STATUS_FAILED_ID, NULL, NULL, ""},
    {"the status frame", ZERO_STATUS_FAILED_ID, "-failed: exit 3", NULL, "-failed: exit 3"},
    {"the status frame first", ZERO_STATUS_FAILED_ID, "-failed: exit 3", "why", "-failed: exit 3"},
    {"the status frame in other words", ZERO_STATUS_FAILED_ID, "why", "and why", "why"},
    {"content", ZERO_STATUS_FAILED_ID, NULL, "why", "why"},
    {"content without its blanks", ZERO_STATUS_ERROR_ID, NULL, "\n why\n it was\r\n", "why\n it was"},
    {"content beside the bare status", ZERO_STATUS_FAILED_ID, "-failed", "why", "why"},
    {"content beside an empty status", ZERO_STATUS_FAILED_ID, "", "why", "why"},
    {"content beside another status", ZERO_STATUS_ERROR_ID, "-failed", "why", "-failed"},
    {"content of a good result", ZERO_STATUS_OK_ID, NULL, "why", ""},
    {"the status of a good result", ZERO_STATUS_OK_ID, "+ok: slow", "why", "+ok: slow"},
    {"empty content", ZERO_STATUS_FAILED_ID, "-failed", " \n", "-failed"},
    {"content that is no text", ZERO_STATUS_FAILED_ID, "-failed", "\xff\xfe", "-failed"},
    {"content that is cut in a character", ZERO_STATUS_FAILED_ID, NULL, "why \xc3", ""},
    {"as long as may be", ZERO_STATUS_FAILED_ID, NULL, BYTES_512, BYTES_512},
    {"too long", ZERO_STATUS_FAILED_ID, NULL, BYTES_512 "x", BYTES_512},
    {"too long, cut between characters", ZERO_STATUS_FAILED_ID, NULL, "x\xc3\xa4" BYTES_512, NULL},
    {"too long a status, cut between characters", ZERO_STATUS_FAILED_ID, "x\xc3\xa4" BYTES_512, NULL, NULL},
};
// clang-format on

static void answers_are_put_into_words (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        const struct row *row = &rows[i];
        struct desc desc = {.count = 0};
        struct span frames[3];
        frames[desc.count] = span_text ("{}");
        desc.types[desc.count++] = ZERO_FRAME_JSON;
        if (row->content) {
            frames[desc.count] = span_text (row->content);
            desc.types[desc.count++] = ZERO_FRAME_CONTENT;
        }
        if (row->status_frame) {
            frames[desc.count] = span_text (row->status_frame);
            desc.types[desc.count++] = ZERO_FRAME_STATUS;
        }
        struct span text = answer_text (row->status, &desc, frames);
        if (row->text)
            CHECK (row->name, span_equal (text, span_text (row->text)));
        else
            CHECK (row->name, text.size == ANSWER_TEXT_MAX);
    }
}

// A character that begins before the bound and ends after it is omitted.
static void no_character_is_cut_in_two (void **state)
{
    (void)state;
    struct desc desc = {.count = 1, .types = {ZERO_FRAME_CONTENT}};
    char bytes[1 + 2 * ANSWER_TEXT_MAX] = "x";
    for (size_t i = 0; i < ANSWER_TEXT_MAX; i++) {
        bytes[1 + 2 * i] = (char)0xc3;
        bytes[2 + 2 * i] = (char)0xa4;
    }
    struct span frame = span_of (bytes, sizeof bytes);
    struct span text = answer_text (ZERO_STATUS_FAILED_ID, &desc, &frame);
    assert_int_equal (text.size, ANSWER_TEXT_MAX - 1);
    assert_memory_equal (text.data, bytes, text.size);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (answers_are_put_into_words),
        cmocka_unit_test (no_character_is_cut_in_two),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
