// A filter for test_zones_oracle.py: for each line of standard input "ZONE INSTANT" prints the
// offset from UTC in force, for "ZONE L LOCAL" the instant of that local time.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zonefile.h"

enum { LINE_SIZE = 256 };

// The zone of the line before, as lines come sorted by zone.
struct cache {
    char name[LINE_SIZE];
    struct zone *zone;
};

static int cache_select (struct cache *self, const char *name)
{
    if (self->zone && strcmp (self->name, name) == 0)
        return 0;
    zone_destroy (&self->zone);
    struct reason reason = {0};
    self->zone = zonefile_load (name, &reason);
    snprintf (self->name, sizeof self->name, "%s", name);
    if (!self->zone)
        fprintf (stderr, "zone_dump: %s\n", reason.text);
    return self->zone ? 0 : -1;
}

static int answer (struct cache *cache, char *line)
{
    char *rest = line;
    const char *name = strsep (&rest, " \n");
    if (!rest || cache_select (cache, name))
        return -1;
    bool is_local = strncmp (rest, "L ", 2) == 0;
    char *end;
    errno = 0;
    int64_t number = strtoll (is_local ? rest + 2 : rest, &end, 10);
    if (errno || *end != '\n')
        return -1;
    printf ("%" PRId64 "\n",
            is_local ? zone_instant (cache->zone, number) : zone_offset (cache->zone, number));
    return 0;
}

int main (void)
{
    struct cache cache = {0};
    char line[LINE_SIZE];
    int failed = 0;
    while (!failed && fgets (line, sizeof line, stdin))
        failed = answer (&cache, line);
    zone_destroy (&cache.zone);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
