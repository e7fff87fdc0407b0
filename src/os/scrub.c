#include "scrub.h"

#include <string.h>

// Overwrite the password in HOST:PORT:PASSWORD.
static void scrub_address (char *text)
{
    char *colon = strchr (text, ':');
    char *password = colon ? strchr (colon + 1, ':') : NULL;
    if (strncmp (text, "unix:", 5) != 0 && strncmp (text, "sentinel:", 9) != 0 && password)
        memset (password + 1, '*', strlen (password + 1));
}

void scrub_keys (char *text)
{
    static const char key[] = ",key=";
    for (char *at = strstr (text, key); at; at = strstr (at, key)) {
        at += sizeof key - 1;
        memset (at, '*', strcspn (at, ","));
    }
}

void scrub_arguments (int argc, char **argv)
{
    static const char set[] = "redis_addr=";
    for (int i = 1; i < argc; i++) {
        if (strcmp (argv[i - 1], "--redis") == 0)
            scrub_address (argv[i]);
        else if (strncmp (argv[i], set, sizeof set - 1) == 0)
            scrub_address (argv[i] + sizeof set - 1);
        scrub_keys (argv[i]);
    }
}
