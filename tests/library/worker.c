// worker ENDPOINT CREDIT THREADS: a worker whose handlers are what the tests need, in so many
// threads. Lines of standard input are orders to it; what becomes of it is said on standard output.
#include <zplan_worker.h>

#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static struct zplan_worker *worker;
static struct zplan_job *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t gate;
static sem_t cancelled;

static void say (const char *words)
{
    pthread_mutex_lock (&lock);
    printf ("%s\n", words);
    fflush (stdout);
    pthread_mutex_unlock (&lock);
}

static bool argument_is (const struct zplan_job *job, const char *text)
{
    return job->argument && job->argument->size == strlen (text) &&
           memcmp (job->argument->data, text, strlen (text)) == 0;
}

// Blocks for as long as the argument says, in seconds.
static int take_long (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)context;
    char digits[8] = "";
    CHECK (job->argument && job->argument->size < sizeof digits);
    memcpy (digits, job->argument->data, job->argument->size);
    CHECK (zplan_job_progress (job, 50, "sleeping") == ZPLAN_OK);
    sleep ((unsigned)atoi (digits));
    CHECK (!zplan_job_lost (job));
    answer->reason = "slept";
    return ZERO_STATUS_OK_ID;
}

// Returns when as many jobs as there are threads are done at once.
static int meet (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)job, (void)context;
    pthread_barrier_wait (&meeting);
    answer->content_type = ZERO_FRAME_CONTENT;
    answer->content = strdup ("met");
    answer->content_size = 3;
    answer->release = free;
    return ZERO_STATUS_OK_ID;
}

// Until the gate is opened once.
static int wait_gate (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)answer, (void)context;
    say ("at the gate");
    sem_wait (&gate);
    if (zplan_job_lost (job))
        say ("lost");
    return ZERO_STATUS_OK_ID;
}

// On the worker's thread; it may make calls on the job.
static void hear_cancel (struct zplan_job *job, const char *words, void *context)
{
    char line[300], again[200];
    CHECK (context == &cancelled && zplan_job_cancelled (job));
    CHECK (zplan_job_cancel_words (job, again, sizeof again) == ZPLAN_OK);
    CHECK (strcmp (words, again) == 0);
    CHECK (zplan_job_cancel_words (job, again, 3) == ZPLAN_OK && strlen (again) < 3);
    CHECK (zplan_job_cancel_words (job, again, 0) == ZPLAN_ERROR_ARGUMENT);
    snprintf (line, sizeof line, "cancelled: %s", words);
    say (line);
    sem_post (&cancelled);
}

// Until it is cancelled.
static int obey_cancel (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)context;
    char words[200];
    CHECK (!zplan_job_cancelled (job));
    CHECK (zplan_job_cancel_words (job, words, sizeof words) == ZPLAN_OK && !*words);
    say ("at it");
    sem_wait (&cancelled);
    CHECK (zplan_job_cancelled (job));
    answer->reason = "stopped";
    return ZERO_STATUS_FAILED_ID;
}

static int keep (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)answer, (void)context;
    pthread_mutex_lock (&lock);
    kept = job;
    pthread_mutex_unlock (&lock);
    say ("kept");
    return ZPLAN_JOB_KEPT;
}

// No other job may come before it has ended: it would be in the place of the one that is over.
static void *answer_kept (void *nothing)
{
    pthread_mutex_lock (&lock);
    struct zplan_job *job = kept;
    pthread_mutex_unlock (&lock);
    struct zplan_answer answer = {.status = ZERO_STATUS_OK_ID, .reason = "from elsewhere"};
    CHECK (zplan_job_answer (job, &answer) == ZPLAN_OK);
    CHECK (zplan_job_answer (job, &answer) == ZPLAN_ERROR_ARGUMENT); // no longer in hand
    CHECK (zplan_job_fail (job, "twice") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_progress (job, 1, "late") == ZPLAN_ERROR_ARGUMENT);
    CHECK (!zplan_job_cancelled (job));
    return nothing;
}

// What is no answer, as the argument says; what is refused leaves the job in hand.
static int wrong (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)context;
    static char much[(1 << 20) + 1];
    struct zplan_answer none = {.status = ZERO_STATUS_WAITING_ID};
    CHECK (zplan_job_answer (job, &none) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_answer (job, NULL) == ZPLAN_ERROR_ARGUMENT);
    answer->content_type = ZERO_FRAME_BIN;
    answer->content = much;
    answer->content_size = sizeof much;
    if (argument_is (job, "large"))
        return ZERO_STATUS_OK_ID;
    answer->content_size--;
    if (argument_is (job, "largest"))
        return ZERO_STATUS_OK_ID;
    answer->content_type = 0; // content without a type
    if (argument_is (job, "type"))
        return ZERO_STATUS_OK_ID;
    CHECK (zplan_job_fail (job, argument_is (job, "silent") ? NULL : "as it was told") == 0);
    return ZPLAN_JOB_KEPT;
}

// Very much is said at once; what is wrong is refused.
static int chatter (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)answer, (void)context;
    char words[400];
    CHECK (zplan_job_progress (job, 101, "x") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_progress (job, -2, "x") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_progress (job, -1, "") == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_progress (job, -1, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_job_progress (job, 1, "\xff") == ZPLAN_ERROR_ARGUMENT);
    for (int i = 0; i <= 100000; i++)
        CHECK (zplan_job_progress (job, i / 1000, NULL) == ZPLAN_OK);
    memset (words, 'x', sizeof words);
    memcpy (words + 254, "\xe2\x82\xac", 3); // a character that is not to be cut in two
    words[sizeof words - 1] = '\0';
    CHECK (zplan_job_progress (job, -1, words) == ZPLAN_OK);
    sem_wait (&gate);
    return ZERO_STATUS_OK_ID;
}

static void *run (void *nothing)
{
    CHECK (zplan_worker_run (worker, 0) == ZPLAN_ERROR_NO_ANSWER);
    CHECK (zplan_worker_run (worker, -1) == ZPLAN_OK);
    return nothing;
}

static void obey (const char *order)
{
    pthread_t thread;
    if (strcmp (order, "open\n") == 0)
        sem_post (&gate);
    if (strcmp (order, "drained\n") == 0)
        say (zplan_worker_drained (worker) ? "drained" : "not drained");
    if (strcmp (order, "leave\n") == 0) {
        zplan_worker_leave (worker);
        say ("leaving");
    }
    if (strcmp (order, "take\n") == 0) {
        kept = zplan_worker_take (worker, -1);
        say ("taken");
    }
    if (strcmp (order, "answer\n") == 0) {
        CHECK (pthread_create (&thread, NULL, answer_kept, NULL) == 0);
        pthread_join (thread, NULL);
        say ("answered");
    }
}

static void wait_joined (unsigned times)
{
    while (zplan_worker_joined (worker) != times)
        usleep (10000);
    say ("joined");
}

int main (int argc, char **argv)
{
    CHECK (argc == 4);
    pthread_t threads[ZPLAN_CREDIT_MAX];
    unsigned count = (unsigned)atoi (argv[3]);
    struct zplan_worker_options options = {
        .endpoint = argv[1], .name = "tested", .credit = atoi (argv[2])};
    worker = zplan_worker_new (&options);
    CHECK (worker && count <= ZPLAN_CREDIT_MAX);
    pthread_barrier_init (&meeting, NULL, count ? count : 1);
    sem_init (&gate, 0, 0);
    sem_init (&cancelled, 0, 0);
    CHECK (zplan_worker_on_cancel (NULL, NULL, NULL) == ZPLAN_ERROR_ARGUMENT);
    CHECK (zplan_worker_on_cancel (worker, hear_cancel, &cancelled) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "obey", obey_cancel, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "sleep", take_long, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "meet", keep, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "meet", meet, NULL) == ZPLAN_OK); // in its place
    CHECK (zplan_worker_handle (worker, "gate", wait_gate, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "keep", keep, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "wrong", wrong, NULL) == ZPLAN_OK);
    CHECK (zplan_worker_handle (worker, "chatter", chatter, NULL) == ZPLAN_OK);
    for (unsigned i = 0; i < count; i++)
        CHECK (pthread_create (&threads[i], NULL, run, NULL) == 0);
    unsigned joins = 1;
    wait_joined (joins);
    char order[64];
    while (fgets (order, sizeof order, stdin)) {
        if (strcmp (order, "join\n") == 0)
            wait_joined (++joins);
        obey (order);
    }
    if (count)
        zplan_worker_leave (worker);
    for (unsigned i = 0; i < count; i++)
        pthread_join (threads[i], NULL);
    if (count)
        CHECK (zplan_worker_left (worker));
    zplan_worker_destroy (&worker);
    CHECK (worker == NULL);
    say ("destroyed");
    return 0;
}
