// zplan work: a worker of a target station that runs a command for each job.
//
// One loop waits for the station, for signals and for the command's pipes at once, so that signs of
// life go out while the command runs and nothing it does can stop them.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "ident.h"
#include "json.h"
#include "keyfile.h"
#include "memory.h"
#include "options.h"
#include "process.h"
#include "zplan_worker.h"

extern char **environ;

enum {
    WAITING_US = 1000000,    // between two signs that the command still runs
    KILL_AFTER_US = 2000000, // from SIGTERM to SIGKILL
    SILENCE_US = 3000000,    // without an answer, before that is told
    ORPHAN_TURN_MS = 100,    // how often an ended command's outputs are looked at
    ARGUMENTS_MAX = 4096,
    HOST_MAX = 48
};

struct work {
    const struct cli *cli;
    // options
    const char *station;
    const char *name;
    bool once;
    char *const *command;
    bool quiet;
    mode_t umask; // of our caller, for the command
    // state
    int signal_fd;
    struct zplan_worker *worker;
    const struct zplan_job *job; // in hand; NULL = none
    struct child child;          // runs while `job` is set
    int64_t waiting_us;          // monotonic; when the next WAITING is due
    bool stopping;
    int64_t kill_us; // monotonic; when a command that ignores SIGTERM is killed
    bool told_joined;
    bool told_silence;
    char told_refusal[REASON_MAX];
    int64_t started_us; // monotonic
    size_t answers;
    size_t failures;
};

// -- the command's environment

// The frame's bytes as text of an environment variable; false: they hold a NUL.
static bool add_frame (char **at, const char *name, const struct zplan_frame *frame)
{
    size_t head = strlen (name);
    if (memchr (frame->size ? frame->data : "x", 0, frame->size ? frame->size : 1))
        return false;
    char *entry = memory_new (head + 1 + frame->size + 1);
    memcpy (entry, name, head);
    entry[head] = '=';
    if (frame->size)
        memcpy (entry + head + 1, frame->data, frame->size);
    *at = entry;
    return true;
}

static struct zplan_frame of_text (const char *text)
{
    return (struct zplan_frame){.data = text, .size = strlen (text)};
}

static void environment_free (char **environment, size_t own)
{
    for (size_t i = 0; i < own; i++)
        free (environment[i]);
    free (environment);
}

struct variable {
    const char *name;
    const struct zplan_frame *value; // NULL = the job does not have it
};

static bool is_own (const char *entry, const struct variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen (variables[i].name);
        if (strncmp (entry, variables[i].name, size) == 0 && entry[size] == '=')
            return true;
    }
    return false;
}

// Our own variables first, `ret_own` of them to be freed, then the rest as we got it. NULL with a
// reason.
static char **environment_new (const struct variable *variables, size_t count, size_t *ret_own,
                               struct reason *reason)
{
    size_t inherited = 0;
    while (environ[inherited])
        inherited++;
    char **environment = memory_new ((inherited + count + 1) * sizeof *environment);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (!variables[i].value)
            continue;
        if (!add_frame (&environment[at], variables[i].name, variables[i].value)) {
            reason_set (reason, "%s: a NUL byte cannot stand in the environment",
                        variables[i].name);
            environment_free (environment, at);
            return NULL;
        }
        at++;
    }
    *ret_own = at;
    for (size_t i = 0; i < inherited; i++)
        if (!is_own (environ[i], variables, count))
            environment[at++] = environ[i];
    return environment;
}

static char **job_environment (const struct zplan_job *job, size_t *ret_own, struct reason *reason)
{
    char plan_id[IDENT_SIZE], exec_id[IDENT_SIZE], plan_time[24];
    ident_text (job->plan_id, plan_id);
    ident_text (job->exec_id, exec_id);
    snprintf (plan_time, sizeof plan_time, "%" PRId64, job->plan_time_s);
    struct zplan_frame plan = of_text (plan_id), exec = of_text (exec_id),
                       time = of_text (plan_time), title = of_text (job->title);
    const struct variable variables[] = {
        {"ZPLAN_PLAN_ID", job->plan_id ? &plan : NULL},
        {"ZPLAN_EXEC_ID", job->exec_id ? &exec : NULL},
        {"ZPLAN_PLAN_TIME", job->plan_time_s >= 0 ? &time : NULL},
        {"ZPLAN_COMMAND", job->command},
        {"ZPLAN_TITLE", title.size ? &title : NULL},
        {"ZPLAN_CONTEXT", job->context},
    };
    return environment_new (variables, sizeof variables / sizeof *variables, ret_own, reason);
}

// -- one job

static void tell (const struct work *self, const char *result)
{
    if (self->quiet)
        return;
    char plan[IDENT_SIZE] = "-";
    if (self->job->plan_id)
        ident_text (self->job->plan_id, plan);
    const struct zplan_frame *command = self->job->command;
    fprintf (stderr, "zplan work: plan %s command %s: %s\n", plan,
             command ? quoted (span_of (command->data, command->size)) : "-", result);
}

static void answer (struct work *self, const struct zplan_answer *answer)
{
    bool failed = answer->status >= ZERO_STATUS_ERROR_FLAG;
    tell (self, answer->reason ? answer->reason : "ok");
    self->answers++;
    self->failures += failed;
    if (zplan_worker_answer (self->worker, answer))
        fprintf (stderr, "zplan work: the answer could not be sent\n");
    self->job = NULL;
    child_free (&self->child);
}

static void answer_failed (struct work *self, const char *reason)
{
    answer (self, &(struct zplan_answer){.status = ZERO_STATUS_FAILED_ID, .reason = reason});
}

static void start_job (struct work *self)
{
    struct reason reason;
    size_t own;
    char **environment = job_environment (self->job, &own, &reason);
    if (!environment) {
        answer_failed (self, reason.text);
        return;
    }
    const struct zplan_frame *argument = self->job->argument;
    struct child_command command = {
        .argv = self->command,
        .environment = environment,
        .input = argument ? span_of (argument->data, argument->size) : (struct span){0},
        .umask = self->umask,
    };
    int rc = child_start (&self->child, &command, &reason);
    environment_free (environment, own);
    if (rc)
        answer_failed (self, reason.text);
    self->waiting_us = clock_mono_us () + WAITING_US;
}

static bool is_utf8 (struct span bytes)
{
    json_t *text = json_stringn (bytes.size ? (const char *)bytes.data : "", bytes.size);
    json_decref (text);
    return text;
}

// A cut may have gone through a character: leave its beginning away.
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

// How the command ended, in words; "" for exit 0 with all of its output.
static void describe (const struct child *child, const struct child_output *output,
                      struct reason *ret)
{
    char cut[48] = "";
    if (output->cut)
        snprintf (cut, sizeof cut, "output cut at %d bytes", CHILD_OUTPUT_MAX);
    const char *comma = *cut ? ", " : "";
    if (WIFSIGNALED (child->wait_status))
        reason_set (ret, "killed by signal %d%s%s", WTERMSIG (child->wait_status), comma, cut);
    else if (WEXITSTATUS (child->wait_status) != 0)
        reason_set (ret, "exit %d%s%s", WEXITSTATUS (child->wait_status), comma, cut);
    else
        reason_set (ret, "%s", cut);
}

static void end_job (struct work *self)
{
    const struct child *child = &self->child;
    if (self->stopping) {
        child_signal (child, SIGKILL); // whoever of its group is left
        answer_failed (self, "worker is stopped");
        return;
    }
    bool done = WIFEXITED (child->wait_status) && WEXITSTATUS (child->wait_status) == 0;
    const struct child_output *output = done ? &child->out : &child->err;
    struct span content = whole_characters (output);
    struct reason reason;
    describe (child, output, &reason);
    answer (self, &(struct zplan_answer){
                      .status = done ? ZERO_STATUS_OK_ID : ZERO_STATUS_FAILED_ID,
                      .reason = *reason.text ? reason.text : NULL,
                      .content_type = is_utf8 (content) ? ZERO_FRAME_CONTENT : ZERO_FRAME_BIN,
                      .content = content.data,
                      .content_size = content.size,
                  });
}

// -- the loop

static void take_signals (struct work *self)
{
    for (int number; (number = process_next_signal (self->signal_fd));) {
        bool stop = number != SIGCHLD;
        if (!stop || self->stopping)
            continue;
        self->stopping = true;
        self->kill_us = clock_mono_us () + KILL_AFTER_US;
        if (self->job)
            child_signal (&self->child, SIGTERM);
    }
}

// Why it is not joined yet: what the station says, or that it says nothing. Once each.
static void tell_trouble (struct work *self)
{
    const char *refusal = zplan_worker_refusal (self->worker);
    if (refusal && *refusal && strcmp (refusal, self->told_refusal) != 0) {
        snprintf (self->told_refusal, sizeof self->told_refusal, "%s", refusal);
        fprintf (stderr, "zplan work: %s refuses: %s\n", self->station,
                 quoted (span_text (self->told_refusal)));
    } else if (!self->told_silence && !*self->told_refusal &&
               clock_mono_us () - self->started_us > SILENCE_US) {
        self->told_silence = true;
        fprintf (stderr, "zplan work: no answer from %s yet%s\n", self->station,
                 keyfile_hint (self->cli));
    }
}

static void tell_joined (struct work *self)
{
    if (!self->quiet && !zplan_worker_joined (self->worker))
        tell_trouble (self);
    bool joined = zplan_worker_joined (self->worker);
    if (joined == self->told_joined || self->quiet)
        return;
    self->told_joined = joined;
    fprintf (stderr, "zplan work: %s %s as %s\n", joined ? "joined" : "no longer joined to",
             self->station, self->name);
}

// How long the loop may sleep, in milliseconds.
static long sleep_ms (const struct work *self)
{
    int64_t wait_ms = zplan_worker_wait_ms (self->worker);
    if (!self->job)
        return (long)wait_ms;
    int64_t due_us = self->waiting_us;
    if (self->stopping && self->kill_us && self->kill_us < due_us)
        due_us = self->kill_us;
    int64_t left_ms = (due_us - clock_mono_us () + 999) / 1000;
    left_ms = left_ms < wait_ms ? left_ms : wait_ms;
    if (self->child.exited && left_ms > ORPHAN_TURN_MS)
        left_ms = ORPHAN_TURN_MS;
    return left_ms > 0 ? (long)left_ms : 0;
}

static void wait_for_events (const struct work *self)
{
    zmq_pollitem_t items[2 + CHILD_ITEMS_MAX];
    size_t count = 0;
    void *socket = zplan_worker_socket (self->worker);
    items[count++] = (zmq_pollitem_t){NULL, self->signal_fd, ZMQ_POLLIN, 0};
    if (socket)
        items[count++] = (zmq_pollitem_t){socket, 0, ZMQ_POLLIN, 0};
    if (self->job)
        count += child_poll_items (&self->child, items + count);
    zmq_poll (items, (int)count, sleep_ms (self));
}

static void serve_job (struct work *self)
{
    int64_t now_us = clock_mono_us ();
    child_serve (&self->child);
    if (child_done (&self->child)) {
        end_job (self);
        return;
    }
    if (self->stopping && self->kill_us && now_us >= self->kill_us) {
        child_signal (&self->child, SIGKILL);
        self->kill_us = 0;
    }
    if (now_us >= self->waiting_us) {
        zplan_worker_waiting (self->worker);
        self->waiting_us = now_us + WAITING_US;
    }
}

static void loop (struct work *self)
{
    while (self->job || !(self->stopping || (self->once && self->answers))) {
        wait_for_events (self);
        take_signals (self);
        if (self->stopping && !self->job)
            return;
        const struct zplan_job *job = zplan_worker_recv (self->worker, 0);
        tell_joined (self);
        if (job) {
            self->job = job;
            start_job (self);
        }
        if (self->job)
            serve_job (self);
    }
}

// -- start

static const struct option rows[] = {
    {.name = "--station",
     .metavar = "ENDPOINT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct work, station),
     .help = "the workers' port of the target station"},
    {.name = "--name",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct work, name),
     .help = "what the station calls this worker; default host and process"},
    {.name = "--once",
     .type = OPTION_FLAG,
     .offset = offsetof (struct work, once),
     .help = "end after one job: with 0 if it went well, else with 1"},
};

static const char about[] =
    "Serves as a worker of a target station (zstationd): runs the command once for each job,\n"
    "without a shell. The command gets\n"
    "  standard input      the job's ARG frame, without one its CONTENT\n"
    "  ZPLAN_PLAN_ID       the plan that fires, in hex; not set for an ordinary call\n"
    "  ZPLAN_EXEC_ID       this run, in hex; another one each time the plan is sent\n"
    "  ZPLAN_PLAN_TIME     the run's nominal time, Unix seconds\n"
    "  ZPLAN_COMMAND, ZPLAN_CONTEXT, ZPLAN_TITLE\n"
    "Exit 0 answers OK with what it wrote to standard output; any other end answers FAILED with\n"
    "what it wrote to standard error. A run may come twice: key what must not be done twice by\n"
    "ZPLAN_PLAN_ID and ZPLAN_PLAN_TIME. SIGTERM ends the command and the worker.\n\n"
    "Example:\n"
    "  zplan work --station tcp://127.0.0.1:7931 -- ./report.sh --monthly\n";

// Host name and process id, with what a name may not hold replaced.
static void default_name (char *out, size_t size)
{
    char host[HOST_MAX] = "worker";
    if (gethostname (host, sizeof host) && errno != ENAMETOOLONG)
        snprintf (host, sizeof host, "worker");
    host[sizeof host - 1] = '\0';
    for (char *at = host; *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!letter && !(*at >= '0' && *at <= '9') && *at != '.' && *at != '-')
            *at = '_';
    }
    snprintf (out, size, "%s-%ld", host, (long)getpid ());
}

static struct zplan_worker *open_worker (const struct work *self, const struct keyfile *key)
{
    return key->given ? zplan_worker_new_curve (self->station, self->name, &key->curve)
                      : zplan_worker_new (self->station, self->name);
}

static int run (struct work *self)
{
    struct keyfile key;
    int code;
    if (keyfile_read (&key, self->cli, &code))
        return code;
    self->umask = umask (077);
    self->signal_fd = process_prepare ();
    self->started_us = clock_mono_us ();
    self->worker = open_worker (self, &key);
    if (!self->worker) {
        struct reason reason;
        bool wrong = errno == EINVAL;
        reason_set (&reason, "%s %s: %s", self->station, self->name,
                    wrong ? "want tcp://HOST:PORT or ipc://PATH, and a name of 1..64 of "
                            "A-Z a-z 0-9 _ . -"
                          : zmq_strerror (errno));
        close (self->signal_fd);
        if (wrong)
            return usage_error ("work", &reason);
        fprintf (stderr, "zplan work: %s\n", reason.text);
        return EXIT_REFUSED;
    }
    loop (self);
    zplan_worker_destroy (&self->worker);
    close (self->signal_fd);
    return self->once && self->failures && !self->stopping ? EXIT_REFUSED : EXIT_DONE;
}

int verb_work (const struct cli *cli)
{
    char name[128];
    struct work work = {.cli = cli, .child = {.input = -1, .out.fd = -1, .err.fd = -1}};
    const struct usage usage = {
        .synopsis = "zplan work --station ENDPOINT [--name NAME] [--once] -- COMMAND [ARGUMENT...]",
        .about = about,
        .groups = {{"Options", rows, sizeof rows / sizeof *rows, &work}},
        .group_count = 1,
        .words_min = 1,
        .words_max = ARGUMENTS_MAX,
        .words = "a command to run",
    };
    int words, code;
    if (!options_read (&usage, cli, &words, &code))
        return code;
    if (!work.station) {
        struct reason reason;
        reason_set (&reason, "--station ENDPOINT is missing");
        return usage_error ("work", &reason);
    }
    cli->argv[1 + words] = NULL; // the words moved to the front, over "--"
    work.command = cli->argv + 1;
    work.quiet = cli->json;
    default_name (name, sizeof name);
    if (!work.name)
        work.name = name;
    return run (&work);
}
