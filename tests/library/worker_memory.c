// worker_memory ENDPOINT: takes a job and answers it while one allocation fails (see
// malloc_shim.c). Whatever the calls return, nothing crashes, and what can be answered is. Says how
// many allocations failed.
#include <zplan_worker.h>

#include <dlfcn.h>
#include <unistd.h>

#include "check.h"

static int greet (struct zplan_job *job, struct zplan_answer *answer, void *context)
{
    (void)context;
    zplan_job_progress (job, 10, "thinking");
    answer->content_type = ZERO_FRAME_CONTENT;
    answer->content = "hello";
    answer->content_size = 5;
    return ZERO_STATUS_OK_ID;
}

int main (int argc, char **argv)
{
    long (*failures) (void);
    CHECK (argc == 2);
    *(void **)&failures = dlsym (RTLD_DEFAULT, "malloc_shim_failures");
    CHECK (failures);
    struct zplan_worker_options options = {.endpoint = argv[1], .name = "w", .credit = 2};
    struct zplan_worker *worker = zplan_worker_new (&options);
    CHECK (worker || errno == ENOMEM);
    if (worker) {
        int error = zplan_worker_handle (worker, "sum", greet, NULL);
        CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY);
        error = zplan_worker_handle (worker, NULL, greet, NULL);
        CHECK (error == ZPLAN_OK || error == ZPLAN_ERROR_MEMORY);
        while (zplan_worker_process (worker) == 0)
            usleep (1000);
    }
    zplan_worker_destroy (&worker);
    printf ("%ld\n", failures ());
    return 0;
}
