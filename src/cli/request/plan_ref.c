#include "plan_ref.h"

#include <stdio.h>
#include <string.h>

#include "ident.h"
#include "utf8.h"

static const char prefix[] = "key:";

enum { PREFIX = sizeof prefix - 1 };

int plan_ref_read (const char *text, char out[PLAN_REF_SIZE], struct reason *reason)
{
    uint64_t id;
    if (ident_parse (span_text (text), &id)) {
        ident_text (id, out);
        return 0;
    }
    const char *name = plan_ref_shown (text);
    size_t size = strlen (name);
    if (size == 0 || size > PLAN_NAME_MAX || !utf8_is_text (span_of (name, size)))
        return reason_set (reason,
                           "%s: want a plan id in hex, or a name of 1 to 256 bytes of UTF-8",
                           quoted (span_text (text)));
    snprintf (out, PLAN_REF_SIZE, "%s%s", prefix, name);
    return 0;
}

bool plan_ref_is_name (const char *ref)
{
    return strncmp (ref, prefix, PREFIX) == 0;
}

const char *plan_ref_shown (const char *ref)
{
    return plan_ref_is_name (ref) ? ref + PREFIX : ref;
}

bool plan_ref_as_name (const struct cli *cli, const char *ref, char out[PLAN_REF_SIZE])
{
    for (int i = 1; i < cli->argc && cli->argv[i] && !plan_ref_is_name (ref); i++) {
        uint64_t id;
        char text[IDENT_SIZE];
        if (ident_parse (span_text (cli->argv[i]), &id) &&
            strcmp (ident_text (id, text), ref) == 0) {
            snprintf (out, PLAN_REF_SIZE, "%s%s", prefix, cli->argv[i]);
            return true;
        }
    }
    return false;
}
