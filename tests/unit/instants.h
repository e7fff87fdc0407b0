// Instants as text in rows, and zones by name. For tests only.
#pragma once

#include "rfc3339.h"
#include "rows.h"
#include "zonefile.h"

enum { INSTANTS_SIZE = 1024 };

// A zone by its name; NULL is UTC.
static inline struct zone *zone_named (const char *name)
{
    struct reason reason = {0};
    struct zone *zone = zonefile_load (name ? name : "UTC", &reason);
    if (!zone)
        fail_msg ("%s", reason.text);
    return zone;
}

// The Unix seconds of a text. NULL and "" are 0, as for a time that is not given. A date alone is
// its midnight; ":00Z" may be omitted.
static inline int64_t instant (const char *text)
{
    char whole[2 * RFC3339_SIZE];
    int64_t time = 0;
    struct reason reason = {0};
    if (!text || !*text)
        return 0;
    size_t size = strlen (text);
    const char *rest = size == 10 ? "T00:00:00Z" : size == 16 ? ":00Z" : "";
    snprintf (whole, sizeof whole, "%s%s", text, rest);
    if (rfc3339_parse (span_text (whole), &time, &reason))
        fail_msg ("%s", reason.text);
    return time;
}

static inline size_t count_words (const char *text)
{
    size_t words = 1;
    for (; *text; text++)
        words += *text == ' ';
    return words;
}

static inline void append_word (char text[INSTANTS_SIZE], const char *word)
{
    size_t size = strlen (text);
    snprintf (text + size, INSTANTS_SIZE - size, "%s%s", size ? " " : "", word);
}

// Append a time as "2026-01-01T08:30", with ":05" if there are seconds.
static inline void append_instant (char text[INSTANTS_SIZE], int64_t time)
{
    char word[RFC3339_SIZE];
    rfc3339_format (time, word);
    word[time % 60 ? 19 : 16] = '\0';
    append_word (text, word);
}
