#include "subword.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

static int refuse (const struct subword *words, size_t count, const char *given,
                   struct reason *reason)
{
    char names[REASON_MAX / 2], listed[REASON_MAX];
    size_t size = 0;
    struct nearest nearest = nearest_to (given);
    for (size_t i = 0; i < count; i++) {
        nearest_try (&nearest, words[i].name);
        if (size < sizeof names)
            size += (size_t)snprintf (names + size, sizeof names - size, "%s%s", i ? " " : "",
                                      words[i].name);
    }
    if (nearest.best[0] || size >= sizeof names) // --help lists them
        return reason_set (reason, "unknown word %s%s", quoted (span_text (given)),
                           nearest_hint (&nearest));
    return reason_set (reason, "want %s, got %s", words_listed (names, listed),
                       quoted (span_text (given)));
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
        return reason_set (reason, "%s: %s", given, words[i].rule);
    }
    return refuse (words, count, given, reason);
}
