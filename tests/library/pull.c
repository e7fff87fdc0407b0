// A worker with handlers that fetches plans of a pull target: ENDPOINT TARGET. It ends with its
// standard input.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zplan_worker.h>

static int greet (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    static char text[256];
    (void)context;
    snprintf (text, sizeof text, "hello %.*s of %llx at %d", (int)job->argument->size,
              (const char *)job->argument->data, (unsigned long long)job->plan_id,
              job->plan_time_s > 0 && job->exec_id != 0);
    answer->content_type = ZERO_FRAME_CONTENT;
    answer->content = text;
    answer->content_size = strlen (text);
    return ZERO_STATUS_OK_ID;
}

static int large (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    enum { SIZE = 70000 };
    (void)job;
    (void)context;
    answer->content_type = ZERO_FRAME_BIN;
    answer->content = calloc (1, SIZE);
    answer->content_size = SIZE;
    answer->release = free;
    return ZERO_STATUS_OK_ID;
}

// Levels of arrays, one more than a report takes.
static int deep (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)job;
    (void)context;
    answer->content_type = ZERO_FRAME_JSON;
    answer->content = "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]";
    answer->content_size = 33;
    return ZERO_STATUS_OK_ID;
}

static int keep (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)job;
    (void)answer;
    (void)context;
    puts ("kept");
    return ZPLAN_JOB_KEPT;
}

static void cancelled (struct zplan_job *job, const char *words, void *context)
{
    (void)context;
    printf ("cancelled: %s\n", words);
    zplan_job_fail (job, "stopped");
}

int main (int argc, char **argv)
{
    setvbuf (stdout, NULL, _IOLBF, 0);
    struct zplan_worker *worker =
        zplan_worker_new (&(struct zplan_worker_options){.endpoint = argc > 1 ? argv[1] : "",
                                                         .name = "c",
                                                         .credit = 2,
                                                         .pull = argc > 2 ? argv[2] : "jobs"});
    if (!worker || zplan_worker_handle (worker, "greet", greet, NULL) ||
        zplan_worker_handle (worker, "large", large, NULL) ||
        zplan_worker_handle (worker, "deep", deep, NULL) ||
        zplan_worker_handle (worker, "keep", keep, NULL) ||
        zplan_worker_on_cancel (worker, cancelled, NULL)) {
        perror ("pull");
        return 1;
    }
    while (!zplan_worker_left (worker)) {
        struct pollfd items[] = {{zplan_worker_fd (worker), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        char byte;
        poll (items, 2, -1);
        if (items[1].revents && read (STDIN_FILENO, &byte, 1) <= 0)
            zplan_worker_leave (worker);
        zplan_worker_process (worker);
    }
    zplan_worker_destroy (&worker);
    puts ("left");
    return 0;
}
