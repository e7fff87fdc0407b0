// SHA-1: sums of texts around the length of a block, whole and in parts.
#include "rows.h"

#include <string.h>

#include "sha1.h"

static const struct sum_row {
    const char *name;
    char byte;
    size_t count;
    const char *sum;
} sums[] = {
    {"empty", 'a', 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"one byte", 'a', 1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
    {"the last of one block", 'a', 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
    {"the first of two blocks", 'a', 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
    {"a block", 'a', 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
    {"many blocks", 'a', 1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba"},
};

static void sums_are_those_of_the_standard (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (sums); i++) {
        const struct sum_row *row = &sums[i];
        char text[1000], hex[2 * SHA1_SIZE + 1];
        uint8_t sum[SHA1_SIZE];
        memset (text, row->byte, sizeof text);
        for (size_t cut = 0; cut <= row->count; cut += 1 + row->count / 7) {
            const struct span parts[] = {span_of (text, cut), span_of (text, row->count - cut)};
            sha1_sum (parts, ROWS (parts), sum);
            for (size_t k = 0; k < SHA1_SIZE; k++)
                snprintf (hex + 2 * k, 3, "%02x", sum[k]);
            CHECK_TEXT (row->name, hex, row->sum);
        }
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (sums_are_those_of_the_standard)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
