#include "task.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "child.h"
#include "clock.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "moment.h"
#include "print.h"
#include "settings.h"
#include "utf8.h"

enum {
    GROUP_CHECK_US = 100000,   // how often an ended command's outputs and group are checked
    OUTPUT_JSON_MAX = 64 << 10 // bytes of a report to a pull target
};

// -- the command's environment

// Linux's limit for one "NAME=VALUE" of an environment (MAX_ARG_STRLEN, 32 pages of 4 KiB).
enum { VARIABLE_MAX = 128 << 10 };

static struct span bytes_of (const struct zplan_frame *frame)
{
    return frame ? span_of (frame->size ? frame->data : "", frame->size) : (struct span){0};
}

// The value of a variable that is set only under this condition.
static struct span text_if (bool is_set, const char *text)
{
    return is_set ? span_text (text) : (struct span){0};
}

// The context, if it fits in an environment variable; the context file always has it.
static struct span context_value (const struct zplan_frame *context)
{
    struct span value = bytes_of (context);
    bool fits = value.data && sizeof "ZPLAN_CONTEXT=" + value.size <= VARIABLE_MAX &&
                !memchr (value.data, 0, value.size);
    return fits ? value : (struct span){0};
}

static char **job_environment (const struct zplan_job *job, struct reason *reason)
{
    char plan_id[IDENT_SIZE], exec_id[IDENT_SIZE], plan_time[24], progress_fd[8], context_fd[8],
        item[24], generation[24];
    ident_text (job->plan_id, plan_id);
    ident_text (job->exec_id, exec_id);
    snprintf (plan_time, sizeof plan_time, "%" PRId64, job->plan_time_s);
    snprintf (progress_fd, sizeof progress_fd, "%d", CHILD_PROGRESS_FD);
    snprintf (context_fd, sizeof context_fd, "%d", CHILD_CONTEXT_FD);
    snprintf (item, sizeof item, "%" PRId64, job->item);
    snprintf (generation, sizeof generation, "%" PRId64, job->generation);
    bool is_call = *job->run;
    const struct environment_variable variables[] = {
        {"ZPLAN_PLAN_ID", text_if (job->plan_id, plan_id)},
        {"ZPLAN_EXEC_ID", text_if (job->exec_id, exec_id)},
        {"ZPLAN_PLAN_TIME", text_if (job->plan_time_s >= 0, plan_time)},
        {"ZPLAN_IDEMPOTENCY_KEY", text_if (*job->idempotency_key, job->idempotency_key)},
        {"ZPLAN_RUN", text_if (is_call, job->run)},
        {"ZPLAN_STEP", text_if (is_call, job->step)},
        {"ZPLAN_ITEM", text_if (job->item >= 0, item)},
        {"ZPLAN_GENERATION", text_if (is_call, generation)},
        {"ZPLAN_UNDO", text_if (job->undo, "1")},
        {"ZPLAN_COMMAND", bytes_of (job->command)},
        {"ZPLAN_TITLE", text_if (*job->title, job->title)},
        {"ZPLAN_CONTEXT", context_value (job->context)},
        {"ZPLAN_CONTEXT_FD", text_if (job->context, context_fd)},
        {"ZPLAN_PROGRESS_FD", span_text (progress_fd)},
        {"TRACEPARENT", text_if (*job->traceparent, job->traceparent)},
    };
    return environment_new (variables, sizeof variables / sizeof *variables, reason);
}

// -- the command's result

static bool is_utf8 (struct span bytes)
{
    json_t *text = json_stringn (bytes.size ? (const char *)bytes.data : "", bytes.size);
    json_decref (text);
    return text;
}

enum { CHILD_END_SIZE = 32 };

// Write how a child that has exited ended: "exit 3", "killed by signal 9". Returns `out`.
static const char *child_end_word (const struct child *self, char out[CHILD_END_SIZE])
{
    if (WIFSIGNALED (self->wait_status))
        snprintf (out, CHILD_END_SIZE, "killed by signal %d", WTERMSIG (self->wait_status));
    else
        snprintf (out, CHILD_END_SIZE, "exit %d", WEXITSTATUS (self->wait_status));
    return out;
}

// Copy the last line of an output, trimmed and truncated to fit; invalid UTF-8 and control bytes
// are replaced by question marks. Returns `out`; "" = the output is empty.
static const char *child_last_line (const struct child_output *output, char out[REASON_MAX])
{
    const uint8_t *end = output->size ? output->bytes + output->size : NULL;
    while (end > output->bytes && end[-1] <= ' ')
        end--;
    const uint8_t *at = end;
    while (at > output->bytes && at[-1] != '\n')
        at--;
    while (at < end && *at <= ' ')
        at++;
    size_t size = utf8_copy_text (span_of (at, (size_t)(end - at)), REASON_MAX - 1, out);
    for (size_t i = 0; i < size; i++)
        if ((uint8_t)out[i] < ' ')
            out[i] = '?';
    out[size] = '\0';
    return out;
}

// The output without an incomplete last character, which remains where the output was cut.
static struct span whole_characters (const struct child_output *output)
{
    struct span bytes = span_of (output->bytes, output->size);
    if (!output->cut)
        return bytes;
    for (size_t back = 1; back <= 4 && back <= bytes.size; back++) {
        uint8_t byte = bytes.data[bytes.size - back];
        size_t wants = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        if (byte >= 0xC0 && wants > back)
            return span_of (bytes.data, bytes.size - back);
        if (byte < 0x80 || byte >= 0xC0)
            break;
    }
    return bytes;
}

// The size of the content as JSON: as a string, or as base64.
static size_t json_size (struct span content)
{
    json_t *value = json_from_frame (content);
    size_t size = json_dumpb (value, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref (value);
    return size;
}

// Cut the output to the part that is sent in the answer, in whole characters. `ret_cut` is its size
// if the output was cut; 0 = it is complete.
static struct span content_of (const struct worker_task *self, const struct child_output *output,
                               size_t *ret_cut)
{
    struct child_output part = *output;
    struct span content = whole_characters (&part);
    while (self->rules->output_json && json_size (content) > OUTPUT_JSON_MAX) {
        // Control bytes and base64 are longer as JSON: reduce the raw size by the same ratio.
        size_t share = content.size * OUTPUT_JSON_MAX / json_size (content);
        part.size = share < content.size ? share : content.size - 1;
        part.cut = true;
        content = whole_characters (&part);
    }
    *ret_cut = part.cut ? content.size : 0;
    return content;
}

// Whether the whole output is a JSON value that an answer may have; if not, with a reason.
static bool is_json_result (const struct worker_task *self, const struct child_output *output,
                            struct reason *reason)
{
    json_error_t error;
    if (output->cut) {
        reason_set (reason, "the output is larger than %d bytes", CHILD_OUTPUT_MAX);
        return false;
    }
    json_t *value = json_loadb ((const char *)output->bytes, output->size,
                                JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    size_t size = json_dumpb (value, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT);
    bool bounded = self->rules->output_json;
    if (!value)
        reason_set (reason, "the output is not JSON: %s", json_error_words (&error));
    else if (bounded && size > OUTPUT_JSON_MAX)
        reason_set (reason, "the output is larger than %d bytes of JSON", OUTPUT_JSON_MAX);
    else if (bounded && json_depth (value) >= JSON_DEPTH_MAX)
        reason_set (reason, "the output is nested deeper than %d levels", JSON_DEPTH_MAX - 1);
    else
        *reason->text = '\0';
    json_decref (value);
    return !*reason->text;
}

// Describe how the command ended, with the last line of standard error after a failure; "" for exit
// 0 with complete output.
static void describe_end (const struct child *child, size_t cut_at, struct reason *ret)
{
    char how[CHILD_END_SIZE], cut[48] = "", line[REASON_MAX];
    if (cut_at)
        snprintf (cut, sizeof cut, "output cut at %zu bytes", cut_at);
    if (child->wait_status == 0) {
        reason_set (ret, "%s", cut);
        return;
    }
    child_last_line (&child->err, line);
    reason_set (ret, "%s%s%s%s%s", child_end_word (child, how), *cut ? ", " : "", cut,
                *line ? ": " : "", line);
}

// Print ": text", or nothing. The text may come from the person who cancelled the run.
static void log_text (const char *text)
{
    if (!*text)
        return;
    fputs (": ", stderr);
    write_bytes (stderr, span_text (text));
}

// Log a run that ended: the time, the plan, the result, the duration, why it was asked to end, and
// the last line of standard error. `cut_at`: bytes of the output that are sent, 0 = all; `reason`:
// why no command was run.
static void log_task_end (const struct worker_task *self, size_t cut_at, const char *reason)
{
    if (self->rules->quiet)
        return;
    const struct child *child = &self->child;
    char plan[IDENT_SIZE] = "-", time[MOMENT_SIZE], how[CHILD_END_SIZE], line[REASON_MAX];
    int64_t now_s = clock_wall_us () / 1000000, took_us = child->exited_us - self->started_us;
    if (self->job->plan_id)
        ident_text (self->job->plan_id, plan);
    const struct zplan_frame *command = self->job->command;
    fprintf (stderr, "zplan work: %s plan %s command %s: ",
             moment_text (now_s, now_s, MOMENT_ABSOLUTE, time), plan,
             command ? quoted (span_of (command->data, command->size)) : "-");
    if (child->exited) {
        fprintf (stderr, "%s after %" PRId64 ".%03d s", child_end_word (child, how),
                 took_us / 1000000, (int)(took_us / 1000 % 1000));
        if (cut_at)
            fprintf (stderr, ", output cut at %zu bytes", cut_at);
        log_text (self->why.text);
        log_text (child_last_line (&child->err, line));
    } else {
        fputs ("not started", stderr);
        log_text (reason);
    }
    fputc ('\n', stderr);
}

static enum task_end answer_job (struct worker_task *self, const struct zplan_answer *answer)
{
    bool failed = answer->status >= ZERO_STATUS_ERROR_FLAG;
    int rc = zplan_job_answer (self->job, answer);
    if (rc) {
        fprintf (stderr, "zplan work: the answer could not be sent: %s\n", zplan_error_text (rc));
        zplan_job_fail (self->job, zplan_error_text (rc));
    }
    self->job = NULL;
    child_free (&self->child);
    return failed || rc ? TASK_FAILED : TASK_DONE;
}

static enum task_end answer_failure (struct worker_task *self, const char *reason)
{
    log_task_end (self, 0, reason);
    return answer_job (self,
                       &(struct zplan_answer){.status = ZERO_STATUS_FAILED_ID, .reason = reason});
}

static enum task_end answer_result (struct worker_task *self)
{
    const struct child *child = &self->child;
    bool done = child->wait_status == 0; // exit 0
    const struct child_output *output = done ? &child->out : &child->err;
    bool json = done && self->rules->json_result && output->size;
    size_t cut = 0;
    struct reason reason;
    if (json && is_json_result (self, output, &reason)) {
        log_task_end (self, 0, "");
        return answer_job (self, &(struct zplan_answer){.status = ZERO_STATUS_OK_ID,
                                                        .content_type = ZERO_FRAME_JSON,
                                                        .content = output->bytes,
                                                        .content_size = output->size});
    }
    struct span content = content_of (self, output, &cut);
    if (json)
        self->why = reason;
    else
        describe_end (child, cut, &reason);
    log_task_end (self, cut, reason.text);
    return answer_job (self,
                       &(struct zplan_answer){
                           .status = done && !json ? ZERO_STATUS_OK_ID : ZERO_STATUS_FAILED_ID,
                           .reason = *reason.text ? reason.text : NULL,
                           .content_type = is_utf8 (content) ? ZERO_FRAME_CONTENT : ZERO_FRAME_BIN,
                           .content = content.data,
                           .content_size = content.size,
                       });
}

// -- the command to run

// Find an argument of the job, counted from 0; NULL = it has fewer.
static const struct zplan_frame *argument_at (const struct zplan_job *job, size_t index)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->frames[i].type == ZERO_FRAME_ARG && index-- == 0)
            return &job->frames[i];
    return NULL;
}

// Copy the script for the shell, NUL-terminated; free it. NULL with a reason.
static char *script_of (const struct zplan_job *job, struct reason *reason)
{
    struct span script = bytes_of (job->argument);
    if (script.size == 0 || memchr (script.data, 0, script.size)) {
        reason_set (reason, script.size
                                ? "the script has a NUL byte"
                                : "a plan of the command sh wants a script as its argument");
        return NULL;
    }
    return memory_copy (script.data, script.size);
}

// Start the job's script, or the worker's command. -1 with a reason.
static int start_child (struct worker_task *self, char *const *environment, struct reason *reason)
{
    const struct zplan_job *job = self->job;
    bool is_shell = self->rules->shell && span_is (bytes_of (job->command), "sh");
    char sh[] = "/bin/sh", dash_c[] = "-c", *script = is_shell ? script_of (job, reason) : NULL;
    char *const shell[] = {sh, dash_c, script, NULL};
    if (is_shell && !script)
        return -1;
    if (!is_shell && !self->rules->command)
        return reason_set (reason,
                           "this worker runs nothing but scripts of plans of the command sh");
    const struct zplan_frame *input = is_shell ? argument_at (job, 1) : job->argument;
    int rc = child_start (&self->child,
                          &(struct child_command){
                              .argv = is_shell ? shell : self->rules->command,
                              .environment = environment,
                              .input = bytes_of (input ? input : job->json),
                              .context = bytes_of (job->context),
                              .umask = self->rules->umask,
                          },
                          reason);
    free (script);
    return rc;
}

// -- start and end

enum task_end task_start (struct worker_task *self, const struct task_rules *rules,
                          struct zplan_job *job)
{
    struct reason reason;
    *self = (struct worker_task){.rules = rules, .job = job, .started_us = clock_mono_us ()};
    if (rules->timeout_s)
        self->limit_us = self->started_us + rules->timeout_s * 1000000;
    child_reset (&self->child);
    char **environment = job_environment (job, &reason);
    if (!environment)
        return answer_failure (self, reason.text);
    int rc = start_child (self, environment, &reason);
    environment_free (environment);
    return rc ? answer_failure (self, reason.text) : TASK_RUNNING;
}

// Report a progress line: "40 copying", "40 % copying", "40" or "copying".
static void report_progress (const struct worker_task *self, const char *line)
{
    char digits[4] = "";
    int64_t percent;
    size_t size = strspn (line, "0123456789");
    if (size < sizeof digits)
        memcpy (digits, line, size);
    const char *words = line + size + strspn (line + size, " ");
    bool is_delimited = line[size] == '\0' || line[size] == ' ' || line[size] == '%';
    if (!is_delimited || !number_parse (digits, &percent) || percent > 100) {
        zplan_job_progress (self->job, -1, line);
        return;
    }
    if (*words == '%')
        words += 1 + strspn (words + 1, " ");
    zplan_job_progress (self->job, (int)percent, words);
}

void task_stop (struct worker_task *self, int number, const char *why)
{
    if (!*self->why.text)
        reason_set (&self->why, "%s", why);
    self->killed = self->killed || number == SIGKILL;
    if (!child_group_has_ended (&self->child))
        child_signal (&self->child, number);
}

// Send SIGTERM now, and SIGKILL after the grace period.
static void cancel_task (struct worker_task *self, const char *words)
{
    struct reason why;
    reason_set (&why, "cancelled%s%s", *words ? ": " : "", words);
    task_stop (self, SIGTERM, why.text);
    self->kill_us = clock_mono_us () + self->rules->grace_s * 1000000;
}

// Whether the time limit applies: not after the child has exited, when only its outputs are waited
// for.
static bool has_time_limit (const struct worker_task *self)
{
    return self->limit_us && !self->child.exited;
}

// End the command if the job is cancelled or took too long: send SIGTERM, unless a signal was
// already sent, and SIGKILL when the grace period is over.
static void task_end_if_due (struct worker_task *self)
{
    char words[REASON_MAX];
    int64_t now_us = clock_mono_us ();
    if (!*self->why.text && zplan_job_cancelled (self->job)) {
        zplan_job_cancel_words (self->job, words, sizeof words);
        cancel_task (self, words);
    } else if (!*self->why.text && has_time_limit (self) && now_us >= self->limit_us) {
        snprintf (words, sizeof words, "timeout after %" PRId64 " s", self->rules->timeout_s);
        cancel_task (self, words);
    }
    if (self->kill_us && now_us >= self->kill_us) {
        self->kill_us = 0;
        task_stop (self, SIGKILL, "");
    }
}

enum task_end task_serve (struct worker_task *self)
{
    child_serve (&self->child);
    const char *line = child_new_progress (&self->child);
    if (line)
        report_progress (self, line);
    if (!*self->why.text && child_has_ended (&self->child))
        return answer_result (self);
    task_end_if_due (self);
    // A command that was sent a signal has ended when its process group is empty or was killed.
    bool ended = self->child.exited && (self->killed || child_group_has_ended (&self->child));
    return ended && *self->why.text ? answer_failure (self, self->why.text) : TASK_RUNNING;
}

int64_t task_due_us (const struct worker_task *self)
{
    int64_t due_us = self->kill_us;
    if (!*self->why.text && has_time_limit (self))
        due_us = self->limit_us;
    int64_t turn_us = clock_mono_us () + GROUP_CHECK_US;
    return self->child.exited && (!due_us || turn_us < due_us) ? turn_us : due_us;
}
