// zplan stats: prints the station in numbers.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "print.h"

static const char about[] = "Print the station in numbers: its plans, its queue, its counters.\n\n"
                            "  zplan stats\n"
                            "  zplan stats --json | jq .counters\n";

enum { NAME_WIDTH = 24, INDENT = 2 };

// Print the fields of one object: "connected true, since 1795302941".
static void print_entry (const json_t *entry)
{
    const char *name, *separator = "";
    json_t *value;
    printf ("%*s", INDENT, "");
    print_column (field_text (entry, "name"), NAME_WIDTH - INDENT);
    json_object_foreach ((json_t *)(uintptr_t)entry, name, value)
    {
        if (strcmp (name, "name") == 0)
            continue;
        printf ("%s", separator);
        print_between ("", span_text (name), " ");
        write_json (stdout, value);
        separator = ", ";
    }
    putchar ('\n');
}

// Print all fields under the station's names; groups are indented.
static void print_fields (const json_t *object, int indent)
{
    size_t i;
    const char *name;
    json_t *value, *entry;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
    {
        if (indent == 0 && strcmp (name, "histograms") == 0)
            continue; // only programs read them: --json, zplan metrics
        printf ("%*s", indent, "");
        print_column (span_text (name), NAME_WIDTH - indent);
        if (json_is_object (value) && indent == 0) {
            putchar ('\n');
            print_fields (value, INDENT);
        } else if (json_is_object (json_array_get (value, 0)) && indent == 0) {
            putchar ('\n');
            json_array_foreach (value, i, entry) print_entry (entry);
        } else if (json_is_string (value)) {
            print_between ("", text_of (value), "\n");
        } else {
            print_json (value);
        }
    }
}

static void print_stats (const char *subject, const json_t *stats)
{
    (void)subject;
    print_fields (stats, 0);
}

static int show_stats (const struct cli *cli, struct zplan_client *client)
{
    return call_print (cli, client, (const char *[]){"stats", NULL}, NULL, print_stats);
}

int verb_stats (const struct cli *cli)
{
    return verb_run (cli, "zplan stats", about, show_stats);
}
