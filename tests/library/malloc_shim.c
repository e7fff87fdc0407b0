// Preloaded by tests: the allocation with the number $ZPLAN_TEST_MALLOC (from 1 on) that libzplan
// or jansson asks for fails. Those of others never do: libzmq ends the process when one of its own
// fails.
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc (size_t size);
void *__libc_calloc (size_t count, size_t size);
void *__libc_realloc (void *block, size_t size);

static long wanted, asked, failed; // of one thread: the others are libzmq's

long malloc_shim_failures (void);
long malloc_shim_failures (void)
{
    return failed;
}

__attribute__ ((constructor)) static void read_number (void)
{
    const char *text = getenv ("ZPLAN_TEST_MALLOC");
    wanted = text ? atol (text) : 0;
}

static bool fails (const void *caller)
{
    Dl_info info;
    if (!wanted || failed || !dladdr (caller, &info) || !info.dli_fname ||
        (!strstr (info.dli_fname, "libzplan.so") && !strstr (info.dli_fname, "libjansson.so")))
        return false;
    if (++asked != wanted)
        return false;
    failed++;
    errno = ENOMEM;
    return true;
}

// NOLINTBEGIN: the C library's own names and parameters
void *malloc (size_t size)
{
    return fails (__builtin_return_address (0)) ? NULL : __libc_malloc (size);
}

void *calloc (size_t count, size_t size)
{
    return fails (__builtin_return_address (0)) ? NULL : __libc_calloc (count, size);
}

void *realloc (void *block, size_t size)
{
    return fails (__builtin_return_address (0)) ? NULL : __libc_realloc (block, size);
}

char *strdup (const char *text)
{
    if (fails (__builtin_return_address (0)))
        return NULL;
    size_t size = strlen (text) + 1;
    char *copy = __libc_malloc (size);
    return copy ? memcpy (copy, text, size) : NULL;
}
// NOLINTEND
