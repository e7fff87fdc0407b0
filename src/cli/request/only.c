#include "only.h"

#include <stdio.h>

#include "call.h"
#include "codes.h"
#include "nearest.h"
#include "options.h"
#include "print.h"

enum { NAMES_MAX = 120 }; // bytes of the list of names, the rest is "..."

// Find the only target in the reply to `station list`. 0, or -1 with a reason.
static int find_only_target (const json_t *stations, const char *type, char out[TARGET_NAME_SIZE],
                             struct reason *reason)
{
    size_t i, count = 0, size = 0;
    const json_t *station;
    char names[NAMES_MAX + TARGET_NAME_SIZE] = "";
    json_array_foreach (stations, i, station)
    {
        const char *name = json_string_value (json_object_get (station, "name"));
        const char *target_type = json_string_value (json_object_get (station, "type"));
        bool matches = type ? target_type && strcmp (target_type, type) == 0
                            : !target_type || strcmp (target_type, "flow") != 0;
        matches = matches && !json_object_get (station, "callbacks"); // the station's own target
        if (!name || strlen (name) >= TARGET_NAME_SIZE || !matches)
            continue;
        if (count++ == 0)
            snprintf (out, TARGET_NAME_SIZE, "%s", name);
        if (size < NAMES_MAX)
            size += (size_t)snprintf (names + size, sizeof names - size, "%s%s", size ? ", " : "",
                                      size + strlen (name) < NAMES_MAX ? name : "...");
    }
    if (count == 1)
        return 0;
    const char *kind = type ? type : "", *blank = type ? " " : "";
    if (count)
        return reason_set (reason, "which %s%starget? known: %s", kind, blank, names);
    return reason_set (reason, "no %s%starget is known: zplan target add jobs=pull", kind, blank);
}

int only_target_request (const struct cli *cli, struct zplan_client *client, const char *type,
                         char out[TARGET_NAME_SIZE], struct reason *reason)
{
    struct verdict verdict;
    json_t *answer =
        call_command_quietly (cli, client, (const char *[]){"station", "list", NULL}, &verdict);
    if (verdict.status == ZERO_STATUS_DENY_ID) { // the key may only submit, or work
        reason_set (reason, "must be given: this key may not list the targets");
        return EXIT_USAGE;
    }
    if (verdict.code != EXIT_DONE) {
        struct span text = verdict_text (&verdict);
        reason_set (reason, "%.*s", (int)text.size, (const char *)text.data);
        return verdict.code;
    }
    int rc = find_only_target (json_object_get (answer, "stations"), type, out, reason);
    json_decref (answer);
    return rc ? EXIT_USAGE : EXIT_DONE;
}

void only_target_warn (const struct cli *cli, struct zplan_client *client, const char *name)
{
    size_t i;
    const json_t *station;
    struct reason reason;
    struct verdict ignored;
    struct nearest nearest = nearest_to (name);
    json_t *answer =
        call_command_quietly (cli, client, (const char *[]){"station", "list", NULL}, &ignored);
    bool known = !json_is_array (json_object_get (answer, "stations"));
    json_array_foreach (json_object_get (answer, "stations"), i, station)
    {
        const char *target_name = json_string_value (json_object_get (station, "name"));
        known = known || (target_name && strcmp (target_name, name) == 0);
        nearest_try (&nearest, target_name ? target_name : "");
    }
    json_decref (answer);
    reason_set (&reason, "no target %s%s", quoted (span_text (name)), nearest_hint (&nearest));
    if (!known)
        complain (NULL, span_text (reason.text));
}

int only_target_find (const struct cli *cli, struct zplan_client *client, const char *type,
                      const char *option, char out[TARGET_NAME_SIZE])
{
    struct reason reason, named;
    int code = only_target_request (cli, client, type, out, &reason);
    if (code == EXIT_USAGE) {
        reason_set (&named, "%s: %s", option, reason.text);
        return usage_error (cli->argv[0], &named);
    }
    if (code != EXIT_DONE)
        complain (NULL, span_text (reason.text));
    return code;
}
