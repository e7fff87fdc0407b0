// Preloaded into a zpland that is built with -finstrument-functions: writes down which functions
// its main thread enters and leaves. The script tests/bench/hops builds it, and reads what it wrote
// from the file HOPS_FILE.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS_MAX = 1 << 20 };
#define LEFT (UINT64_C (1) << 63)

struct calls {
    volatile uint64_t on; // set by the script
    volatile uint64_t count;
    uint64_t at[CALLS_MAX];
};

static struct calls *calls;
static pthread_t main_thread;

void __cyg_profile_func_enter (void *function, void *caller);
void __cyg_profile_func_exit (void *function, void *caller);

__attribute__ ((constructor)) static void recorder_open (void)
{
    const char *name = getenv ("HOPS_FILE");
    int fd = name ? open (name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *map = mmap (NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    main_thread = pthread_self ();
    calls = map == MAP_FAILED ? NULL : map;
    close (fd);
}

static void record (uint64_t entry)
{
    if (!calls || !calls->on || !pthread_equal (pthread_self (), main_thread) ||
        calls->count >= CALLS_MAX)
        return;
    calls->at[calls->count] = entry;
    calls->count++;
}

void __cyg_profile_func_enter (void *function, void *caller)
{
    (void)caller;
    record ((uint64_t)(uintptr_t)function);
}

void __cyg_profile_func_exit (void *function, void *caller)
{
    (void)caller;
    record ((uint64_t)(uintptr_t)function | LEFT);
}
