// The part of an answer that a report has: secrets that a receiver echoes are masked.
#include "rows.h"

#include "outcome.h"

static void reason_of (const char *url, const char *answer, struct delivery_outcome *ret)
{
    struct callback_url read;
    struct reason reason;
    if (callback_url_read (span_text (url), &read, &reason))
        fail_msg ("%s: %s", url, reason.text);
    const struct attempt attempt = {
        .status = 500, .answer = span_text (answer), .masked_url = &read};
    outcome_of_attempt (&attempt, ret);
}

// The text in brackets must be masked.
static void a_url_is_masked (void **state)
{
    static const struct {
        const char *name, *url, *answer;
    } rows[] = {
        {"path", "/T0/B0/capability", "no /[T0/B0/capability]!"},
        {"path of a query", "/T0/B0/capability?v=1", "no /[T0/B0/capability]"},
        {"short path of a query", "/T0/B0?v=1", "no /[T0/B0]"},
        {"all", "/T0/B0/capability?v=1", "no /[T0/B0/capability?v=1]"},
        {"query of no path", "/?token=SECRET123", "bad /[?token=SECRET123]"},
        {"query", "/hook?token=SECRET123", "bad [token=SECRET123]."},
        {"value", "/hook?token=SECRET123&v=1", "bad [SECRET123] v"},
        {"short query", "/?t=ab12", "bad [t=ab12]"},
        {"segment", "/T0/capability/x", "no [capability]"},
        {"decoded", "/T0/B0%2Dcap", "no /[T0/B0-cap]"},
        {"as it is", "/T0/B0%2Dcap", "no /[T0/B0%2Dcap]"},
        {"coded in another way", "/T0/B0%2dc_p", "no [%54%30/B0%2Dc%5fp]"},
        {"'%' decoded once", "/T0/B0%252Dcap", "no /[T0/B0%2Dcap]"},
        {"'%' as it is", "/T0/B0%252Dcap", "no /[T0/B0%252Dcap]"},
        {"blanks of a form", "/?k=SECRET+12+34", "bad [SECRET 12 34]"},
        {"blanks", "/?k=SECRET%2012%2034", "bad [SECRET+12+34]"},
        {"not ASCII", "/?k=SECRET%C3%A9", "bad [SECRET\xc3\xa9]"},
        {"twice", "/hook?t=SECRET123", "[SECRET123SECRET123]"},
        {"overlapping", "/SECRETAB/ABTOKEN0", "[SECRETABTOKEN0]"},
        {"a common word", "/hook?token=SECRET123", "bad token"},
        {"a path of one byte and a query", "/a?token=SECRET123", "a bad call"},
        {"nothing to blot", "/", "bad / call"},
        {"'%' at the end", "/hook?token=SECRET123", "5%"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char url[64], answer[64], want[80] = "HTTP 500: ";
        size_t size = 0, from = strlen (want);
        bool masked = false;
        for (const char *at = rows[i].answer; *at; at++) {
            if (*at == '[' || *at == ']') {
                masked = *at == '[';
                continue;
            }
            want[from + size] = (char)(masked ? '*' : *at);
            answer[size++] = *at;
        }
        want[from + size] = answer[size] = '\0';
        snprintf (url, sizeof url, "https://a.example%s", rows[i].url);
        struct delivery_outcome outcome;
        reason_of (url, answer, &outcome);
        CHECK_TEXT (rows[i].name, outcome.reason, want);
    }
}

// The kept start of an answer ends inside the URL, at each of its bytes.
static void a_cut_url_is_masked (void **state)
{
    const char *urls[] = {"https://a.example/hook?t=SECRET123",
                          "https://a.example/ho?t=SE%43RET1%323"};
    const char *echoes[] = {"SECRET123", "SE%43RET1%323"};
    (void)state;
    for (size_t i = 0; i < ROWS (urls); i++)
        for (size_t lead = OUTCOME_ANSWER_MAX - 64; lead < OUTCOME_ANSWER_MAX; lead++) {
            char answer[2 * OUTCOME_ANSWER_MAX];
            struct delivery_outcome outcome;
            memset (answer, '.', lead);
            snprintf (answer + lead, sizeof answer - lead, "%s%64s", echoes[i], "");
            reason_of (urls[i], answer, &outcome);
            CHECK (echoes[i],
                   !strstr (outcome.reason, "SECR") && !strstr (outcome.reason, "SE%43R"));
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (a_url_is_masked),
                                       cmocka_unit_test (a_cut_url_is_masked)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
