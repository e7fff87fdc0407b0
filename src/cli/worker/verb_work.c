// zplan work: a worker that runs a command for each job, of a target station or of a pull target of
// the station.
//
// One loop waits for jobs, for signals and for the commands' pipes. A thread of the library
// exchanges messages with the station.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "memory.h"
#include "only.h"
#include "options.h"
#include "print.h"
#include "process.h"
#include "station_name.h"
#include "task.h"

enum {
    KILL_AFTER_US = 2000000, // from SIGTERM to SIGKILL of all commands
    REPORT_US = 5000000,     // after SIGKILL, for the station to accept the last answers
    NO_ANSWER_US = 3000000,  // without an answer for so long, this is reported
    GRACE_S = 10,
    GRACE_MAX_S = 86400,
    TIMEOUT_MAX_S = 31536000,
    ARGUMENTS_MAX = 4096,
    HOST_MAX = 48
};

struct work {
    const struct cli *cli;
    // Options.
    const char *station; // a target station's port; NULL = a pull target's plans are fetched
    const char *pull;    // name of the pull target
    const char *name;
    const char *commands; // names of commands, separated by commas; NULL = all
    const char *output;   // what the commands print: NULL = text
    int64_t jobs;         // at most so many concurrent jobs; 0 = not given
    bool once;
    struct task_rules rules; // grace_s is also the time from the first signal to SIGTERM
    // State.
    int signal_fd;
    struct zplan_worker *worker;
    struct worker_task *tasks; // `jobs` tasks
    // After the first signal no more jobs are taken; STOPPING: commands may end by themselves;
    // TERMINATED, KILLED: they got that signal.
    enum { WORKING, STOPPING, TERMINATED, KILLED } phase;
    int64_t phase_end_us; // monotonic; unused while WORKING
    unsigned reported_joined;
    bool reported_no_answer;
    bool reported_drained;
    char reported_refusal[REASON_MAX];
    int64_t started_us; // monotonic
    size_t failures;
};

// -- signals

static void signal_tasks (struct work *self, int number)
{
    for (int64_t i = 0; i < self->jobs; i++)
        if (self->tasks[i].job)
            task_stop (&self->tasks[i], number, "worker is stopped");
}

// Report that commands still run: otherwise nothing would be visible after Ctrl-C.
static void report_grace (const struct work *self)
{
    int64_t running = 0;
    for (int64_t i = 0; i < self->jobs; i++)
        running += self->tasks[i].job != NULL;
    if (running && self->rules.grace_s && !self->rules.quiet)
        fprintf (stderr,
                 "zplan work: no more jobs; commands still running: %" PRId64
                 ", which have %" PRId64 " s to end; a second signal ends them now\n",
                 running, self->rules.grace_s);
}

// Read signals: the first one lets the commands end by themselves; a second one does not.
static void read_signals (struct work *self)
{
    for (int number; (number = process_next_signal (self->signal_fd));) {
        if (number == SIGCHLD)
            continue;
        int64_t now_us = clock_mono_us ();
        if (self->phase == WORKING) {
            self->phase = STOPPING;
            self->phase_end_us = now_us + self->rules.grace_s * 1000000;
            report_grace (self);
        } else if (self->phase == STOPPING) {
            self->phase_end_us = now_us;
        }
        zplan_worker_leave (self->worker);
    }
}

static bool phase_has_ended (const struct work *self)
{
    return self->phase != WORKING && clock_mono_us () >= self->phase_end_us;
}

static void end_overdue_tasks (struct work *self)
{
    if (self->phase == KILLED || !phase_has_ended (self))
        return;
    bool first = self->phase == STOPPING;
    signal_tasks (self, first ? SIGTERM : SIGKILL);
    self->phase = first ? TERMINATED : KILLED;
    self->phase_end_us = clock_mono_us () + (first ? KILL_AFTER_US : REPORT_US);
}

// -- what is printed about the station

// The station or target that the worker serves, for messages.
static const char *served_name (const struct work *self)
{
    return self->station ? self->station : self->cli->connect;
}

// Report why the worker is not joined yet: the station's error, or that it does not answer. Each is
// reported once.
static void report_not_joined (struct work *self)
{
    char refusal[REASON_MAX];
    zplan_worker_refusal (self->worker, refusal, sizeof refusal);
    if (*refusal && strcmp (refusal, self->reported_refusal) != 0) {
        memcpy (self->reported_refusal, refusal, sizeof refusal);
        fprintf (stderr, "zplan work: %s rejects: ", served_name (self));
        write_error (stderr, span_text (refusal));
        fputc ('\n', stderr);
    } else if (!self->reported_no_answer && !*self->reported_refusal &&
               clock_mono_us () - self->started_us > NO_ANSWER_US) {
        self->reported_no_answer = true;
        fprintf (stderr, "zplan work: no answer from %s yet%s\n", served_name (self),
                 keyfile_hint (self->cli));
    }
}

static void report_drained (struct work *self)
{
    if (self->reported_drained || !zplan_worker_drained (self->worker))
        return;
    self->reported_drained = true;
    if (!self->rules.quiet)
        fprintf (stderr, "zplan work: %s wants no more jobs done here\n", self->station);
}

static void report_joined (struct work *self)
{
    unsigned joined = zplan_worker_joined (self->worker);
    if (self->rules.quiet)
        return;
    if (!joined)
        report_not_joined (self);
    if (joined == self->reported_joined)
        return;
    // It may have both left and joined since the last check.
    if (self->reported_joined && self->pull)
        fprintf (stderr, "zplan work: no answer from %s any more\n", served_name (self));
    else if (self->reported_joined)
        fprintf (stderr, "zplan work: no longer joined to %s as %s\n", served_name (self),
                 self->name);
    if (joined && self->pull)
        fprintf (stderr, "zplan work: serves %s of %s as %s\n", self->pull, served_name (self),
                 self->name);
    else if (joined)
        fprintf (stderr, "zplan work: joined %s as %s\n", served_name (self), self->name);
    self->reported_joined = joined;
}

// -- the loop

static void keep_earlier_time (int64_t *until_us, int64_t at_us)
{
    if (at_us && (!*until_us || at_us < *until_us))
        *until_us = at_us;
}

// How long the loop may sleep, in milliseconds; -1 = until an event.
static int sleep_ms (const struct work *self)
{
    int64_t now_us = clock_mono_us (), until_us = 0;
    keep_earlier_time (&until_us, self->phase_end_us);
    if (!self->reported_joined && !self->reported_no_answer)
        keep_earlier_time (&until_us, self->started_us + NO_ANSWER_US + 1000);
    for (int64_t i = 0; i < self->jobs; i++)
        if (self->tasks[i].job)
            keep_earlier_time (&until_us, task_due_us (&self->tasks[i]));
    if (!until_us)
        return -1;
    int64_t left_ms = until_us > now_us ? (until_us - now_us + 999) / 1000 : 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

static void wait_for_events (const struct work *self)
{
    struct pollfd items[2 + ZPLAN_CREDIT_MAX * CHILD_ITEMS] = {
        {.fd = self->signal_fd, .events = POLLIN},
        {.fd = zplan_worker_fd (self->worker), .events = POLLIN}};
    nfds_t count = 2;
    for (int64_t i = 0; i < self->jobs; i++)
        if (self->tasks[i].job)
            count += child_poll_items (&self->tasks[i].child, items + count);
    poll (items, count, sleep_ms (self));
}

// Take a job for each free task: the number of tasks is the worker's credit.
static void take_jobs (struct work *self)
{
    for (int64_t i = 0; i < self->jobs; i++) {
        struct worker_task *task = &self->tasks[i];
        struct zplan_job *job = task->job ? NULL : zplan_worker_take (self->worker, 0);
        if (!job)
            continue;
        if (self->phase != WORKING) { // sent before the station knew that the worker stops
            zplan_job_answer (job, &(struct zplan_answer){.status = ZERO_STATUS_NOT_WORKER_ID,
                                                          .reason = "worker is stopped"});
            continue;
        }
        if (self->once)
            zplan_worker_leave (self->worker);
        self->failures += task_start (task, &self->rules, job) == TASK_FAILED;
    }
}

static void serve_jobs (struct work *self)
{
    while (!zplan_worker_left (self->worker) &&
           !(self->phase == KILLED && phase_has_ended (self))) {
        wait_for_events (self);
        read_signals (self);
        take_jobs (self);
        report_joined (self); // after take_jobs, which reads the pending events
        report_drained (self);
        end_overdue_tasks (self);
        for (int64_t i = 0; i < self->jobs; i++)
            if (self->tasks[i].job)
                self->failures += task_serve (&self->tasks[i]) == TASK_FAILED;
    }
}

// -- start

static const struct option rows[] = {
    TEXT_OPTION (struct work, station, "--station", "ENDPOINT",
                 "serve a target station (zstationd): its workers' port; of\n"
                 "several, with commas between, one that answers"),
    TEXT_OPTION (struct work, pull, "--pull", "NAME",
                 "serve this pull target of zpland (at --connect); default,\n"
                 "without --station: the only one that it has",
                 .offered = VALUES_STATIONS),
    FLAG_OPTION (struct work, rules.shell, "--shell",
                 "run the argument of plans of the command `sh` with /bin/sh -c:\n"
                 "whoever may submit plans runs anything as this user; see above"),
    TEXT_OPTION (struct work, name, "--name", "NAME",
                 "the worker's name; default host and process"),
    TEXT_OPTION (struct work, commands, "--commands", "NAME,NAME",
                 "take only jobs of these commands; goes with --station only"),
    NUMBER_OPTION (struct work, jobs, "--jobs", "N", 1, ZPLAN_CREDIT_MAX,
                   "run N commands at once, 1 to 64; default 1"),
    NUMBER_OPTION (struct work, rules.grace_s, "--grace", "DURATION", 0, GRACE_MAX_S,
                   "at SIGTERM give commands so long to end by themselves, and\n"
                   "so long after SIGTERM those whose run is cancelled: 30s, 5m,\n"
                   "or seconds; default 10s",
                   .unit_ms = 1000),
    NUMBER_OPTION (struct work, rules.timeout_s, "--run-timeout", "DURATION", 1, TIMEOUT_MAX_S,
                   "end a command that takes longer, as if it were cancelled:\n"
                   "90s, 5m, or seconds",
                   .unit_ms = 1000),
    TEXT_OPTION (struct work, output, "--output", "FORMAT",
                 "what commands print: text, the default; json: a JSON value,\n"
                 "as the value of a flow's step; other output fails the run",
                 .values = "text json"),
    FLAG_OPTION (struct work, once, "--once",
                 "end after one job: with 0 if it went well, else with 1"),
};

static const char about[] =
    "Runs the command once for each job, without a shell. The jobs are the plans of a pull\n"
    "target of zpland (--pull), or come from a target station (--station). The command gets\n"
    "  standard input      the job's first ARG frame, or else CONTENT, or JSON:\n"
    "                      the `json` of a flow's step without `args` and `text`\n"
    "  ZPLAN_PLAN_ID       the plan that fires, in hex; not set for an ordinary call\n"
    "  ZPLAN_EXEC_ID       this run, in hex; another one each time the plan is sent\n"
    "  ZPLAN_PLAN_TIME     the run's nominal time, Unix seconds\n"
    "  ZPLAN_IDEMPOTENCY_KEY  the same each time that this work is sent\n"
    "  ZPLAN_COMMAND, ZPLAN_TITLE\n"
    "  ZPLAN_RUN, ZPLAN_STEP, ZPLAN_GENERATION\n"
    "                      the call of a flow: its run in hex, the step, and how\n"
    "                      often it was repeated on purpose; ZPLAN_ITEM of a step\n"
    "                      with for_each; ZPLAN_UNDO is 1 if it is the undo\n"
    "  TRACEPARENT         W3C trace context of the run, if its plan has one\n"
    "  ZPLAN_CONTEXT_FD    the job's CONTEXT as a file: cat <&$ZPLAN_CONTEXT_FD\n"
    "  ZPLAN_CONTEXT       the same text, up to 128 KiB and without NULs\n"
    "  ZPLAN_PROGRESS_FD   a descriptor for its progress, which zplan show prints,\n"
    "                      and zplan team of a pull target:\n"
    "                      echo \"40 copying\" >&$ZPLAN_PROGRESS_FD\n"
    "Exit 0 answers OK with what it wrote to standard output; any other end answers FAILED with\n"
    "what it wrote to standard error, the last line of which is the error text of the run in\n"
    "history and show. Output larger than an answer takes is cut, and the answer says so: 1 MiB,\n"
    "64 KiB as JSON to a pull target. A run may come twice: recognise work that must not be done\n"
    "twice by ZPLAN_IDEMPOTENCY_KEY. With --output json nothing is cut: what is larger fails the "
    "run,\n"
    "and no output is no value. SIGTERM or SIGINT: no more jobs are taken, and when the\n"
    "commands have ended the worker does. When the time of --grace is over, or at a second\n"
    "signal, they are ended, which answers FAILED.\n\n"
    "Each run that ends is logged on standard error, except with --json: the time, the plan, the\n"
    "command, the exit status or signal, how long the run took, and the last line of its standard\n"
    "error:\n"
    "  zplan work: 2026-12-24T18:00:01Z plan 64ee8ab401d3f2 command 'sh':\n"
    "  exit 3 after 1.250 s: no disk\n\n"
    "A command runs in a process group of its own. When its run is cancelled, or takes longer "
    "than\n"
    "--run-timeout, the whole group gets SIGTERM, after the time of --grace SIGKILL. The run is\n"
    "answered FAILED, and why, when nobody of the group is left. A pull target's worker learns of\n"
    "a cancelled run within 5 seconds. `zplan drain NAME` ends the worker of a target station\n"
    "remotely: it finishes its jobs and exits with 0.\n\n"
    "A worker of a pull target survives that the station is restarted or away, or that another\n"
    "one takes over: commands continue, and their answers wait for it. One that is killed loses\n"
    "its jobs to other workers when the plan's worker_timeout is over, 60 seconds unless the plan\n"
    "says otherwise.\n\n"
    "With --shell a plan of the command `sh` brings its own script: its first argument is run by\n"
    "/bin/sh -c, with its second argument, if it has one, as standard input. Whoever may submit\n"
    "plans to the target may then run anything as the worker's user: give it a user and a target\n"
    "of its own, and zpland a folder of keys (zpland --allow), before others can reach the\n"
    "station. Plans of another command are for COMMAND; without one they are rejected.\n\n"
    "Examples:\n"
    "  zplan work -- ./report.sh --monthly       # the only pull target of zpland\n"
    "  zplan work --pull jobs --jobs 4 --run-timeout 600 -- ./report.sh\n"
    "  zplan work --pull cron --shell\n"
    "  zplan work --output json -- ./etl.sh      # prints a JSON value\n"
    "  zplan work --station tcp://127.0.0.1:7931 -- ./report.sh --monthly\n";

// Make a name of the host name and the process id; characters that a name may not contain are
// replaced.
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

static int report_start_error (const struct work *self)
{
    struct reason reason;
    if (errno != EINVAL) {
        fprintf (stderr, "zplan work: %s %s: %s\n", served_name (self), self->name,
                 strerror (errno));
        return EXIT_REFUSED;
    }
    bool named = station_name_valid (span_text (self->name));
    const char *name = named ? self->pull : self->name;
    if (name && !station_name_valid (span_text (name)))
        reason_set (&reason, "--%s: want 1..64 of A-Z a-z 0-9 _ . -, got %s",
                    named ? "pull" : "name", quoted (span_text (name)));
    else if (self->commands && !command_names_valid (span_text (self->commands)))
        reason_set (&reason, "--commands: want NAME,NAME");
    else
        call_endpoint_reason (self->station ? "--station" : "--connect", served_name (self),
                              &reason);
    return usage_error ("work", &reason);
}

// Find the only pull target, if no option names one.
static int find_target (struct work *self, char out[TARGET_NAME_SIZE])
{
    int code = EXIT_DONE;
    if (self->station || self->pull)
        return code;
    struct zplan_client *client = call_open (self->cli, &code);
    if (client)
        code = only_target_find (self->cli, client, "pull", "--pull", out);
    zplan_client_destroy (&client);
    self->pull = out;
    return code;
}

static int run_worker (struct work *self)
{
    struct keyfile key;
    int code;
    if (keyfile_read (&key, self->cli, &code))
        return code;
    self->rules.umask = umask (077);
    self->signal_fd = process_prepare ();
    self->started_us = clock_mono_us ();
    self->worker =
        zplan_worker_new (&(struct zplan_worker_options){.endpoint = served_name (self),
                                                         .name = self->name,
                                                         .curve = key.given ? &key.curve : NULL,
                                                         .credit = (int)self->jobs,
                                                         .pull = self->pull,
                                                         .commands = self->commands});
    if (self->worker) {
        self->tasks = memory_new ((size_t)self->jobs * sizeof *self->tasks);
        serve_jobs (self);
        code = self->once && self->failures && self->phase == WORKING ? EXIT_REFUSED : EXIT_DONE;
    } else {
        code = report_start_error (self);
    }
    zplan_worker_destroy (&self->worker);
    free (self->tasks);
    close (self->signal_fd);
    return code;
}

static int check_options (struct work *self, int words)
{
    struct reason reason;
    if (self->station && self->pull)
        reason_set (&reason, "--station and --pull: want one or the other");
    else if (self->commands && !self->station)
        reason_set (&reason, "--commands: goes with --station only");
    else if (!words && !self->rules.shell)
        reason_set (&reason, "want a command to run, behind --");
    else if (self->once && self->jobs > 1)
        reason_set (&reason, "--once and --jobs do not go together");
    else
        return 0;
    return usage_error ("work", &reason);
}

int verb_work (const struct cli *cli)
{
    char name[128], pull[TARGET_NAME_SIZE];
    struct work work = {.cli = cli, .rules.grace_s = GRACE_S};
    const struct usage usage = {
        .synopsis =
            "zplan work [--pull NAME | --station ENDPOINT] [--name NAME] [--jobs N] "
            "[--grace DURATION] [--run-timeout DURATION] [--output FORMAT] [--once] [--shell] "
            "-- COMMAND [ARGUMENT...]",
        .about = about,
        .groups = {OPTION_GROUP ("Options", rows, &work)},
        .words_max = ARGUMENTS_MAX,
        .words = "a command to run",
    };
    int words, code;
    if (!options_read (&usage, cli, &words, &code))
        return code;
    code = check_options (&work, words);
    if (!code)
        code = find_target (&work, pull);
    if (code)
        return code;
    cli->argv[1 + words] = NULL; // the words moved to the front, over "--"
    work.jobs = work.jobs ? work.jobs : 1;
    work.rules.command = words ? cli->argv + 1 : NULL;
    work.rules.output_json = work.pull != NULL;
    work.rules.json_result = work.output && strcmp (work.output, "json") == 0;
    work.rules.quiet = cli->json;
    default_name (name, sizeof name);
    if (!work.name)
        work.name = name;
    return run_worker (&work);
}
