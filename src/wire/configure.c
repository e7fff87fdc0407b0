// The settings file is applied first, wherever -c is on the command line, so that the command line
// always wins.
#include "configure.h"

#include <czmq.h>
#include <jansson.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_pool.h"
#include "process.h"

enum { SETTING_NAME_MAX = 256, SETTING_ITEM_MAX = 1024 };

// The command line that is read, and the settings to fill.
struct argv_reader {
    int count;
    char **at;
    int next;
    const struct configured_program *program;
    void *values;
    struct reason *reason;
};

static void print_help (const struct configured_program *program)
{
    fputs (program->usage_head, stdout);
    for (size_t i = 0; i < program->table->count; i++) {
        const struct setting *row = &program->table->rows[i];
        const char *topic = settings_topic (program->table, row);
        char left[64];
        if (topic)
            printf ("\n%s:\n", topic);
        snprintf (left, sizeof left, "%s %s", row->option, row->metavar ? row->metavar : "");
        printf ("  %-27s %s (%s)", left, row->help, row->name);
        if (row->fallback && *row->fallback && row->type != SETTING_FLAG)
            printf (" [%s]", row->fallback);
        putchar ('\n');
    }
    fputs (program->usage_tail, stdout);
}

// Print a line for each setting; the manual is generated from this output.
static void print_settings (const struct configured_program *program)
{
    static const char *const types[] = {[SETTING_TEXT] = "text",
                                        [SETTING_NUMBER] = "number",
                                        [SETTING_FLAG] = "flag",
                                        [SETTING_OWN] = "text",
                                        [SETTING_LIST] = "list"};
    const char *topic = NULL;
    for (size_t i = 0; i < program->table->count; i++) {
        const struct setting *row = &program->table->rows[i];
        const char *begins = settings_topic (program->table, row);
        topic = begins ? begins : topic;
        json_t *line =
            json_pack ("{ss ss ss ss* ss ss* sb ss}", "topic", topic, "name", row->name, "option",
                       row->option, "value", row->metavar, "type", types[row->type], "default",
                       row->fallback, "reload", program->reloads && !row->fixed, "help", row->help);
        if (row->type == SETTING_NUMBER) {
            json_object_set_new (line, "min", json_integer (row->min));
            json_object_set_new (line, "max", json_integer (row->max));
        }
        json_dumpf (line, stdout, 0);
        putchar ('\n');
        json_decref (line);
    }
}

// -- the file

static int apply_named (const struct argv_reader *to, const char *name, const char *value,
                        struct reason *reason)
{
    const struct setting *row = settings_named (to->program->table, name);
    // An item of a list: "stations/NAME".
    const char *slash = strchr (name, '/');
    if (!row && slash) {
        char list[SETTING_NAME_MAX], item[SETTING_ITEM_MAX];
        snprintf (list, sizeof list, "%.*s", (int)(slash - name), name);
        if (snprintf (item, sizeof item, "%s=%s", slash + 1, value) >= (int)sizeof item)
            return reason_set (reason, "%s: at most %d bytes, its name included",
                               quoted (span_text (name)), SETTING_ITEM_MAX - 2);
        row = settings_named (to->program->table, list);
        if (row && row->type == SETTING_LIST)
            return setting_set (row, to->values, item, reason);
    } else if (row && row->type != SETTING_LIST) {
        return setting_set (row, to->values, value, reason);
    }
    return reason_set (reason, "%s: no such setting", quoted (span_text (name)));
}

static int apply_item (const struct argv_reader *to, zconfig_t *item, const char *section,
                       struct reason *reason)
{
    char name[SETTING_NAME_MAX];
    snprintf (name, sizeof name, "%s%s%s", section ? section : "", section ? "/" : "",
              zconfig_name (item));
    if (!zconfig_child (item))
        return apply_named (to, name, zconfig_value (item), reason);
    if (section)
        return reason_set (reason, "%s: nested too deep", quoted (span_text (name)));
    for (zconfig_t *child = zconfig_child (item); child; child = zconfig_next (child))
        if (apply_item (to, child, zconfig_name (item), reason))
            return -1;
    return 0;
}

// Whether zconfig can read the file: it treats a folder as an empty file, and ends a line at a NUL.
static bool is_text_file (const char *path)
{
    struct stat entry;
    if (stat (path, &entry) || S_ISDIR (entry.st_mode))
        return false;
    if (!S_ISREG (entry.st_mode))
        return true; // a pipe can be read only once
    FILE *file = fopen (path, "r");
    int byte = file ? 1 : EOF;
    while (byte != '\0' && byte != EOF)
        byte = getc (file);
    if (file)
        fclose (file);
    return byte != '\0';
}

static int apply_file (const struct argv_reader *to, const char *path, struct reason *reason)
{
    struct reason why;
    int rc = 0;
    if (access (path, R_OK))
        return reason_set (reason, "-c %s: %s", path, strerror (errno));
    zconfig_t *root = is_text_file (path) ? zconfig_load (path) : NULL;
    if (!root)
        return reason_set (reason, "-c %s: cannot be read as a ZPL file", path);
    for (zconfig_t *item = zconfig_child (root); item && rc == 0; item = zconfig_next (item))
        rc = apply_item (to, item, NULL, &why);
    if (rc)
        reason_set (reason, "%s: %s", path, why.text);
    zconfig_destroy (&root);
    return rc;
}

// -- the command line

static const char *take_option_value (struct argv_reader *arguments, const char *option)
{
    if (arguments->next < arguments->count)
        return arguments->at[arguments->next++];
    reason_set (arguments->reason, "%s: requires a value", option);
    return NULL;
}

static enum configure_result apply_set (struct argv_reader *arguments)
{
    const char *text = take_option_value (arguments, "--set");
    const char *equals = text ? strchr (text, '=') : NULL;
    char name[256];
    if (!text)
        return CONFIGURED_USAGE;
    if (!equals) {
        reason_set (arguments->reason, "--set: want NAME=VALUE, got %s", quoted (span_text (text)));
        return CONFIGURED_USAGE;
    }
    snprintf (name, sizeof name, "%.*s", (int)(equals - text), text);
    return apply_named (arguments, name, equals + 1, arguments->reason) ? CONFIGURED_WRONG
                                                                        : CONFIGURED;
}

static enum configure_result apply_option (struct argv_reader *arguments)
{
    const char *option = arguments->at[arguments->next++];
    if (strcmp (option, "--set") == 0)
        return apply_set (arguments);
    if (strcmp (option, "-c") == 0) // applied already, before the options
        return take_option_value (arguments, option) ? CONFIGURED : CONFIGURED_USAGE;
    const struct setting *row = settings_option (arguments->program->table, option);
    if (!row) {
        reason_set (arguments->reason, "%s: no such option", quoted (span_text (option)));
        return CONFIGURED_USAGE;
    }
    const char *value = row->type == SETTING_FLAG ? "1" : take_option_value (arguments, option);
    if (!value)
        return CONFIGURED_USAGE;
    return setting_set (row, arguments->values, value, arguments->reason) ? CONFIGURED_WRONG
                                                                          : CONFIGURED;
}

// Handle --help, --version, --settings and -c, which take effect before all other options.
static enum configure_result apply_early_options (struct argv_reader *arguments)
{
    for (int i = 1; i < arguments->count; i++) {
        const char *option = arguments->at[i];
        if (strcmp (option, "--help") == 0) {
            print_help (arguments->program);
            return CONFIGURED_DONE;
        }
        if (strcmp (option, "--version") == 0) {
            printf ("%s %s\n", arguments->program->name, ZPLAN_VERSION);
            return CONFIGURED_DONE;
        }
        if (strcmp (option, "--settings") == 0) {
            print_settings (arguments->program);
            return CONFIGURED_DONE;
        }
        if (strcmp (option, "-c") == 0 && i + 1 < arguments->count &&
            apply_file (arguments, arguments->at[++i], arguments->reason))
            return CONFIGURED_WRONG;
    }
    return CONFIGURED;
}

enum configure_result configure (const struct configured_program *program, int argc, char **argv,
                                 void *values, struct reason *reason)
{
    struct argv_reader arguments = {argc, argv, 1, program, values, reason};
    settings_reset (program->table, values);
    enum configure_result result = apply_early_options (&arguments);
    while (result == CONFIGURED && arguments.next < argc)
        result = apply_option (&arguments);
    if (result == CONFIGURED && program->check (values, reason))
        result = CONFIGURED_WRONG;
    return result;
}

int configured_main (const struct configured_program *program, int argc, char **argv, void *values,
                     configured_run_fn *run)
{
    struct reason reason = {""};
    int code = CONFIGURED_STOPPED;
    process_begin (HANGUP_RESET);
    json_pool_use ();
    enum configure_result result = configure (program, argc, argv, values, &reason);
    if (result == CONFIGURED)
        code = run (values, &reason);
    else if (result != CONFIGURED_DONE)
        code = CONFIGURED_MISUSED;
    if (code)
        fprintf (stderr, "%s: %s\n", program->name, reason.text);
    if (result == CONFIGURED_USAGE)
        fprintf (stderr, "Try '%s --help'.\n", program->name);
    return code;
}
