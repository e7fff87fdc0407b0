// Prints what is found at a MicroZero center, one JSON array a line each time it answers, until its
// standard input ends: so that discovery is tested from outside, without a station around it.
#include <czmq.h>
#include <stdio.h>
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

static int on_input (zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    char byte;
    (void)loop;
    (void)item;
    (void)arg;
    return read (STDIN_FILENO, &byte, 1) == 1 ? 0 : -1;
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
    log_start ("center_dump", LEVEL_DEBUG);
    wire_context ();
    zloop_t *loop = zloop_new ();
    zloop_set_nonstop (loop, true);
    zmq_pollitem_t input = {.fd = STDIN_FILENO, .events = ZMQ_POLLIN};
    zloop_poller (loop, &input, on_input, NULL);
    struct center *center = center_new (&settings, loop, print_found, NULL);
    zloop_start (loop);
    center_destroy (&center);
    zloop_destroy (&loop);
    wire_context_end ();
    return 0;
}
