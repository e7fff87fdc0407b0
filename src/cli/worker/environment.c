#include "environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

extern char **environ;

void environment_free (char **environment, size_t own)
{
    for (size_t i = 0; i < own; i++)
        free (environment[i]);
    free (environment);
}

static bool is_own (const char *entry, const struct environment_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen (variables[i].name);
        if (strncmp (entry, variables[i].name, size) == 0 && entry[size] == '=')
            return true;
    }
    return false;
}

char **environment_new (const struct environment_variable *variables, size_t count, size_t *ret_own,
                        struct reason *reason)
{
    size_t inherited = 0;
    while (environ[inherited])
        inherited++;
    char **environment = memory_new ((inherited + count + 1) * sizeof *environment);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        struct span value = variables[i].value;
        if (!value.data)
            continue;
        if (memchr (value.data, 0, value.size)) {
            reason_set (reason, "%s: a NUL byte cannot stand in the environment",
                        variables[i].name);
            environment_free (environment, at);
            return NULL;
        }
        if (asprintf (&environment[at++], "%s=%.*s", variables[i].name, (int)value.size,
                      (const char *)value.data) < 0)
            abort (); // only for lack of memory
    }
    *ret_own = at;
    for (size_t i = 0; i < inherited; i++)
        if (!is_own (environ[i], variables, count))
            environment[at++] = environ[i];
    return environment;
}
