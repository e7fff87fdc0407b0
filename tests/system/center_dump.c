// Prints what is found at a MicroZero center, one JSON array a line each time it answers, until its
// standard input ends: so that discovery is tested from outside, without a station around it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "center.h"
#include "context.h"
#include "json.h"
#include "log.h"
#include "process.h"

static void print_found (void *owner, const struct found_station *list, size_t count)
{
    (void)owner;
    json_t *array = json_array ();
    for (size_t i = 0; i < count; i++)
        json_array_append_new (array,
                               json_pack ("{s:s, s:s, s:s, s:b}", "name", list[i].name, "type",
                                          target_type_name (list[i].type), "endpoint",
                                          list[i].endpoint, "seed", list[i].seed_dialect));
    char *text = json_write (array);
    puts (text);
    fflush (stdout);
    free (text);
    json_decref (array);
}

static void on_input (void *reactor, uint32_t events)
{
    char byte;
    (void)events;
    if (read (STDIN_FILENO, &byte, 1) != 1)
        reactor_stop (reactor);
}

int main (int argc, char **argv)
{
    struct center_settings settings;
    struct reason reason;
    if (argc != 2 || center_settings_parse (argv[1], &settings, &reason)) {
        fprintf (stderr, "%s\n", argc == 2 ? reason.text : "want a center");
        return 2;
    }
    process_prepare ();
    log_start ("center_dump", "debug", "logfmt");
    wire_context ();
    struct reactor *reactor = reactor_new ();
    struct source input = {.call = on_input, .owner = reactor};
    source_set (&input, reactor, STDIN_FILENO, EPOLLIN);
    struct center *center = center_new (&settings, reactor, print_found, NULL);
    reactor_run (reactor);
    center_destroy (&center);
    source_end (&input);
    reactor_destroy (&reactor);
    wire_context_end ();
    return 0;
}
