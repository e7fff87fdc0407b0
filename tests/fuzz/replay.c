// Runs the seeds of a fuzz target without a fuzzer: FUZZ_TARGET FOLDER. The sanitizers report
// errors; the last seed on stderr is the one that failed.
#include <dirent.h>

#include "fuzz.h"

enum { SEED_MAX = 1 << 20 };

static bool run_seed (const char *folder, const char *name)
{
    char path[512];
    snprintf (path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen (path, "rb");
    uint8_t *bytes = malloc (SEED_MAX);
    HOLDS (file && bytes);
    size_t size = fread (bytes, 1, SEED_MAX, file);
    HOLDS (feof (file));
    fclose (file);
    fprintf (stderr, "%s\n", path);
    uint8_t *exact = malloc (size + !size); // so that a read past its end is seen
    HOLDS (exact);
    memcpy (exact, bytes, size);
    LLVMFuzzerTestOneInput (exact, size);
    free (exact);
    free (bytes);
    return true;
}

int main (int argc, char **argv)
{
    int seeds = 0;
    DIR *folder = argc == 2 ? opendir (argv[1]) : NULL;
    if (!folder) {
        fprintf (stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir (folder));)
        seeds += entry->d_name[0] != '.' && run_seed (argv[1], entry->d_name);
    closedir (folder);
    printf ("%d seeds\n", seeds);
    return seeds ? 0 : 1;
}
