#include "subword.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

// "list, set or remove". Whether they fit.
static bool write_names (const struct subword *words, size_t count, char *out, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < count && at < size; i++)
        at += (size_t)snprintf (out + at, size - at, "%s%s",
                                i == 0           ? ""
                                : i == count - 1 ? " or "
                                                 : ", ",
                                words[i].name);
    return at < size;
}

static void refuse (const struct subword *words, size_t count, const char *given,
                    struct reason *reason)
{
    char names[REASON_MAX / 2];
    struct nearest nearest = nearest_to (given);
    for (size_t i = 0; i < count; i++)
        nearest_try (&nearest, words[i].name);
    bool fits = write_names (words, count, names, sizeof names);
    if (nearest.best[0] || !fits) // --help lists them
        reason_set (reason, "unknown word %s%s", quoted (span_text (given)),
                    nearest_hint (&nearest));
    else
        reason_set (reason, "want %s, got %s", names, quoted (span_text (given)));
}

int subword_read (const struct subword *words, size_t count, const struct cli *cli, int arguments,
                  struct reason *reason)
{
    const char *given = arguments ? cli->argv[1] : words[0].name;
    int rest = arguments ? arguments - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp (words[i].name, given) != 0)
            continue;
        if (rest >= words[i].min && rest <= words[i].max)
            return (int)i;
        reason_set (reason, "%s: %s", given, words[i].rule);
        return -1;
    }
    refuse (words, count, given, reason);
    return -1;
}
