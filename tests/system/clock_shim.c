// Preloaded by tests: the wall clock is that of the machine and an offset, which stands as
// microseconds in the file $ZPLAN_TEST_CLOCK and may be changed while the program runs. The
// monotonic clocks stay what they are.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MILLION = 1000000, BILLION = 1000000000 };

static const volatile int64_t *shared_offset; // NULL before the constructor has run

__attribute__ ((constructor)) static void open_offset (void)
{
    const char *path = getenv ("ZPLAN_TEST_CLOCK");
    int fd = path ? open (path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap (NULL, sizeof (int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        shared_offset = map;
    if (fd >= 0)
        close (fd);
}

// NOLINTNEXTLINE: the C library's own name and parameters
int clock_gettime (clockid_t clock, struct timespec *ret)
{
    int rc = (int)syscall (SYS_clock_gettime, clock, ret);
    if (rc || !shared_offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return rc;
    int64_t ns = *shared_offset % MILLION * 1000 + ret->tv_nsec + BILLION; // never negative
    ret->tv_sec += *shared_offset / MILLION + ns / BILLION - 1;
    ret->tv_nsec = ns % BILLION;
    return 0;
}

int gettimeofday (struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime (CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time (time_t *ret)
{
    struct timespec now;
    clock_gettime (CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
