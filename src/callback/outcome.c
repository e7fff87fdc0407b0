#include "outcome.h"

#include <stdio.h>

#include "percent.h"

enum {
    HTTP_GONE = 410,
    HTTP_TOO_MANY = 429,
    HTTP_UNAVAILABLE = 503,
    CUT_MIN = 4, // shortest start of a secret to mask at the end; shorter ones may match by chance
    PART_MIN = 8 // shortest part of a URL to mask; "hook" may match by chance
};

// -- the text of an answer

// The byte, or '?' if it is not printable ASCII, or a blank for a newline.
static char to_printable (uint8_t byte)
{
    return (char)(byte >= 0x20 && byte <= 0x7e ? byte : byte == '\n' ? ' ' : '?');
}

static size_t write_printable (struct span text, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < text.size && used + 1 < size; i++)
        out[used++] = to_printable (text.data[i]);
    out[used] = '\0';
    return used;
}

// -- masking: receivers echo what they were sent

// The size of this byte as it is spelled at the start of the text: the byte itself, or %HH, which
// may be cut by the end of the text. 0: the text starts with another byte.
static size_t spelled_size (const char *text, uint8_t byte)
{
    bool is_blank = byte == ' ' || byte == '+'; // a query may use either
    if (*text == to_printable (byte) || (is_blank && (*text == ' ' || *text == '+')))
        return 1;
    if (*text == '%' && strlen (text) < 3)
        return strlen (text);
    return percent_byte (span_text (text)) == byte ? 3 : 0;
}

// The size of the start of the text that matches the start of the secret, if at least `least` bytes
// of the secret match, or `at_end` bytes where the text ends in it.
static size_t match_size (const char *text, struct span secret, size_t least, size_t at_end)
{
    size_t at = 0, count = 0, size;
    while (count < secret.size && text[at] &&
           (size = spelled_size (text + at, secret.data[count]))) {
        at += size;
        count++;
    }
    return count >= least || (!text[at] && count >= at_end) ? at : 0;
}

// Mask the whole secret, or its start at the end of the text. A byte is masked only after the
// comparison at its position, so overlapping occurrences are found.
static void mask_secret (char *text, struct span secret, size_t at_end)
{
    for (size_t left = 0; *text && secret.size; text++) {
        size_t size = match_size (text, secret, secret.size, at_end);
        left = size > left ? size : left;
        if (left && left--)
            *text = '*';
    }
}

// Mask every part of the secret in the text, from any position in the secret.
static void mask_parts (char *text, struct span secret, size_t at_end)
{
    for (size_t left = 0; *text; text++) {
        for (size_t i = 0; i < secret.size; i++) {
            struct span part = span_of (secret.data + i, secret.size - i);
            size_t size = match_size (text, part, PART_MIN, at_end);
            left = size > left ? size : left;
        }
        if (left && left--)
            *text = '*';
    }
}

static struct span decode_url_part (struct span part, uint8_t ret[CALLBACK_URL_SIZE])
{
    size_t size = 0;
    for (size_t i = 0; i < part.size; i++) {
        int byte = percent_byte (span_of (part.data + i, part.size - i));
        ret[size++] = byte < 0 ? part.data[i] : (uint8_t)byte;
        i += byte < 0 ? 0 : 2;
    }
    return span_of (ret, size);
}

// Mask path and query of a secret URL: the decoded ones first, as they match most spellings. Long
// parts are masked before short ones, which would leave pieces of them.
static void mask_url (char *text, const struct callback_url *url, size_t at_end)
{
    const char *path = url->text + url->origin_size + 1, *query = path + url->path_size - 1;
    const struct span all = span_text (path),
                      parts[] = {all, span_of ((const uint8_t *)path, url->path_size - 1),
                                 span_text (query + (*query == '?'))};
    uint8_t bytes[CALLBACK_URL_SIZE];
    mask_parts (text, decode_url_part (all, bytes), at_end);
    mask_parts (text, all, at_end);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        // Skip short parts, which are common in texts; the whole is always masked.
        if (i && parts[i].size < CUT_MIN)
            continue;
        mask_secret (text, decode_url_part (parts[i], bytes), at_end);
        mask_secret (text, parts[i], at_end);
    }
}

// -- the report

void outcome_of_attempt (const struct attempt *attempt, struct delivery_outcome *ret)
{
    *ret = (struct delivery_outcome){.success = attempt->status >= 200 && attempt->status < 300,
                                     .final = attempt->status == HTTP_GONE || attempt->denied,
                                     .retry_after_s = attempt->retry_after_s};
    if (attempt->status != HTTP_TOO_MANY && attempt->status != HTTP_UNAVAILABLE)
        ret->retry_after_s = 0;
    char answer[OUTCOME_ANSWER_MAX - 16];
    size_t size = write_printable (attempt->answer, answer, sizeof answer);
    for (size_t i = 0; i < sizeof attempt->masked_secrets / sizeof *attempt->masked_secrets; i++)
        mask_secret (answer,
                     span_text (attempt->masked_secrets[i] ? attempt->masked_secrets[i] : ""),
                     CUT_MIN);
    // Mask the start of a URL at the end only if the answer was cut here: text such as "unknown
    // hook" ends with a part of many URLs.
    if (attempt->masked_url)
        mask_url (answer, attempt->masked_url, attempt->answer.size > size ? CUT_MIN : SIZE_MAX);
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

void outcome_write (const struct delivery_outcome *self, json_t *report)
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
