#include "hook.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "codes.h"
#include "json.h"
#include "status_names.h"
#include "plan.h"
#include "print.h"
#include "process.h"

enum { VARIABLES = 6 };

bool hook_is_failure (const struct zplan_result *result, const json_t *object)
{
    const char *field = result->from_history ? "state" : "plan_state";
    json_int_t state = field_number (object, field);
    return result->status >= ZERO_STATUS_ERROR_FLAG && result->status != ZERO_STATUS_CANCELLED_ID &&
           result->status != ZERO_STATUS_MISSED_ID && state != PLAN_RETRY && state != PLAN_EXECUTE;
}

// -- the outcome

// A copy of a field; an empty text if it is absent.
static json_t *field_or_empty (const json_t *object, const char *field)
{
    json_t *value = json_object_get (object, field);
    return value ? json_incref (value) : json_string ("");
}

static json_t *outcome_object (const struct zplan_result *result, const json_t *object)
{
    char exec_id[24], code[JSON_CODE_SIZE];
    uint8_t status = result->status;
    bool timeout = status == ZERO_STATUS_TIMEOUT_ID;
    bool has_code = !timeout && status != ZERO_STATUS_FAILED_ID && status_name (status);
    snprintf (exec_id, sizeof exec_id, "%" PRIx64, (uint64_t)result->exec_id);
    return json_pack ("{s:o, s:O*, s:o, s:o, s:s, s:s*, s:o, s:s}", "plan",
                      json_from_frame (span_of (result->id, result->id_size)), "name",
                      json_object_get (object, "key"), "title",
                      json_from_frame (span_of (result->title, result->title_size)), "target",
                      field_or_empty (object, "station"), "status", timeout ? "timeout" : "failed",
                      "code", has_code ? json_status_code (status, code) : NULL, "reason",
                      field_or_empty (object, result->from_history ? "reason" : "error_info"),
                      "exec_id", exec_id);
}

// -- the program

// Check that the path is an executable file. 0, or errno.
static int program_error (const char *path)
{
    struct stat info;
    if (access (path, X_OK) || stat (path, &info))
        return errno;
    return S_ISREG (info.st_mode) ? 0 : EACCES;
}

int hook_check (const char *program, struct reason *reason)
{
    char path[PATH_MAX];
    const char *rest = getenv ("PATH");
    int error = strchr (program, '/') ? program_error (program) : ENOENT;
    if (!rest)
        rest = "/bin:/usr/bin";
    while (rest && error && !strchr (program, '/')) {
        int size = (int)strcspn (rest, ":");
        snprintf (path, sizeof path, "%.*s%s%s", size, rest, size ? "/" : "./", program);
        error = program_error (path);
        rest = rest[size] ? rest + size + 1 : NULL;
    }
    if (error)
        reason_set (reason, "--exec: %s: %s", quoted (span_text (program)), strerror (error));
    return error ? -1 : 0;
}

static char **hook_environment (const json_t *outcome, struct reason *reason)
{
    static const struct {
        const char *name, *field;
    } rows[VARIABLES] = {{"ZPLAN_PLAN", "plan"},     {"ZPLAN_NAME", "name"},
                         {"ZPLAN_TITLE", "title"},   {"ZPLAN_TARGET", "target"},
                         {"ZPLAN_STATUS", "status"}, {"ZPLAN_REASON", "reason"}};
    struct environment_variable variables[VARIABLES];
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *value = json_string_value (json_object_get (outcome, rows[i].field));
        variables[i] = (struct environment_variable){rows[i].name, span_text (value ? value : "")};
    }
    return environment_new (variables, VARIABLES, reason);
}

// Wait for the program to end. False: a signal ends the watch.
static bool wait_for_child (struct child *child, int signal_fd)
{
    while (!child_has_ended (child)) {
        struct pollfd items[1 + CHILD_ITEMS] = {{.fd = signal_fd, .events = POLLIN}};
        nfds_t count = 1 + child_poll_items (child, items + 1);
        if (poll (items, count, 1000) < 0 && errno != EINTR)
            return false;
        int number = process_next_signal (signal_fd);
        if (number != 0 && number != SIGCHLD)
            return false;
        child_serve (child);
    }
    return true;
}

static void report_output (const char *program, const struct child *child)
{
    if (child->out.size)
        fwrite (child->out.bytes, 1, child->out.size, stdout);
    if (child->err.size)
        fwrite (child->err.bytes, 1, child->err.size, stderr);
    int status = child->wait_status;
    char words[64];
    if (WIFEXITED (status))
        snprintf (words, sizeof words, "exit status %d", WEXITSTATUS (status));
    else
        snprintf (words, sizeof words, "killed by signal %d", WTERMSIG (status));
    if (status) // 0: exit status 0
        complain (program, span_text (words));
}

bool hook_run (const struct hook *self, const struct zplan_result *result, const json_t *object)
{
    struct reason reason;
    struct child child;
    bool continues = true;
    json_t *outcome = outcome_object (result, object);
    char *text = json_write (outcome), **variables = hook_environment (outcome, &reason);
    size_t size = strlen (text);
    text[size++] = '\n'; // one object per line, also where a program appends them to a file
    if (child_start (&child,
                     &(struct child_command){.argv = (char *const[]){(char *)self->program, NULL},
                                             .environment = variables,
                                             .input = span_of (text, size),
                                             .umask = self->umask},
                     &reason))
        complain (self->program, span_text (reason.text));
    else if ((continues = wait_for_child (&child, self->signal_fd)))
        report_output (self->program, &child);
    child_free (&child);
    environment_free (variables);
    free (text);
    json_decref (outcome);
    return continues;
}
