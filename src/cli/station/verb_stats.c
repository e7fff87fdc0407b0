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

// Print numbers and strings plainly, anything else as JSON.
static void print_value (const json_t *value)
{
    if (json_is_string (value)) {
        print_between ("", text_of (value), "\n");
    } else {
        print_json (value);
    }
}

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

static void print_entries (const json_t *list)
{
    size_t i;
    const json_t *entry;
    putchar ('\n');
    json_array_foreach (list, i, entry) print_entry (entry);
}

// Print all fields under the station's names; groups are indented.
static void print_fields (const json_t *object, int indent)
{
    const char *name;
    json_t *value;
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
            print_entries (value);
        } else {
            print_value (value);
        }
    }
}

static void print_stats (const char *subject, const json_t *stats)
{
    (void)subject;
    print_fields (stats, 0);
}

int verb_stats (const struct cli *cli)
{
    int code;
    struct zplan_client *client = verb_begin (cli, "zplan stats", about, &code);
    if (client)
        code = call_print (cli, client, (const char *[]){"stats", NULL}, NULL, print_stats);
    zplan_client_destroy (&client);
    return code;
}
