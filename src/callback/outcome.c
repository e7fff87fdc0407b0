#include "outcome.h"

#include <stdio.h>

enum { HTTP_GONE = 410, HTTP_TOO_MANY = 429, HTTP_UNAVAILABLE = 503 };

// Printable ASCII of an answer: what else a receiver sends becomes '?'.
static size_t write_printable (struct span text, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < text.size && used + 1 < size; i++)
        out[used++] = (char)(text.data[i] >= 0x20 && text.data[i] <= 0x7e ? text.data[i]
                             : text.data[i] == '\n'                       ? ' '
                                                                          : '?');
    out[used] = '\0';
    return used;
}

// Receivers echo what they were sent. A secret of which the answer has only the begin, at its end,
// is found as well.
static void blot (char *text, const char *secret)
{
    size_t size = strlen (secret), length = strlen (text);
    for (size_t at = 0; size && at < length; at++) {
        size_t left = length - at, same = left < size ? left : size;
        // A few bytes at the end are no secret, and may be anything.
        if ((same == size || same >= 4) && memcmp (text + at, secret, same) == 0)
            memset (text + at, '*', same);
    }
}

void outcome_of_attempt (const struct attempt *attempt, struct outcome *ret)
{
    *ret = (struct outcome){.success = attempt->status >= 200 && attempt->status < 300,
                            .final = attempt->status == HTTP_GONE || attempt->denied,
                            .retry_after_s = attempt->retry_after_s};
    if (attempt->status != HTTP_TOO_MANY && attempt->status != HTTP_UNAVAILABLE)
        ret->retry_after_s = 0;
    char answer[OUTCOME_ANSWER_MAX - 16];
    size_t size = write_printable (attempt->answer, answer, sizeof answer);
    for (size_t i = 0; i < sizeof attempt->blotted / sizeof *attempt->blotted; i++)
        blot (answer, attempt->blotted[i] ? attempt->blotted[i] : "");
    if (attempt->status)
        snprintf (ret->reason, sizeof ret->reason, "HTTP %d%s%s", attempt->status, size ? ": " : "",
                  answer);
    else
        snprintf (ret->reason, sizeof ret->reason, "%s",
                  attempt->denied ? "address not allowed" : attempt->fault);
}

enum breaker_end outcome_of_host (const struct attempt *attempt)
{
    if (attempt->denied)
        return BREAKER_UNKNOWN;
    bool failed =
        attempt->status == 0 || attempt->status == HTTP_TOO_MANY || attempt->status >= 500;
    return failed ? BREAKER_FAILED : BREAKER_WORKS;
}

void outcome_write (const struct outcome *self, json_t *report)
{
    const char *state = self->release_s ? "release" : self->success ? "success" : "fail";
    json_object_set_new (report, "state", json_string (state));
    json_object_set_new (report, "reason", json_string (self->reason));
    if (self->release_s)
        json_object_set_new (report, "after", json_integer (self->release_s));
    if (self->final)
        json_object_set_new (report, "final", json_true ());
    else if (self->retry_after_s)
        json_object_set_new (report, "retry_after", json_integer (self->retry_after_s));
}
