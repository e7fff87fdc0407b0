#include "context.h"

#include <czmq.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "process.h"

static void *context;

void *wire_context (void)
{
    if (!context) {
        zsys_handler_set (NULL);
        context = zsys_init ();
        srandom ((unsigned)process_random ());
    }
    return context;
}

void wire_context_end (void)
{
    if (context)
        zsys_shutdown ();
    context = NULL;
}

void *wire_socket (int type)
{
    return wire_socket_in (wire_context (), type);
}

// libzmq silently lets a second process take over the ipc path of the first. So hold a lock file
// next to it for the life of the process.
static int lock_path (const char *endpoint, struct reason *reason)
{
    char path[sizeof ((struct sockaddr_un *)0)->sun_path + sizeof ".lock"];
    struct reason why;
    if (strncmp (endpoint, "ipc://", 6) != 0)
        return 0;
    snprintf (path, sizeof path, "%s.lock", endpoint + 6);
    if (lock_file_open (path, &why) >= 0)
        return 0;
    return reason_set (reason, "%s: %s", endpoint, why.text);
}

int wire_rebind (void *socket, const char *endpoint, struct reason *reason)
{
    if (zmq_bind (socket, endpoint) == 0)
        return 0;
    return reason_set (reason, "%s: %s", endpoint, zmq_strerror (errno));
}

int wire_bind (void *socket, const char *endpoint, struct reason *reason)
{
    if (endpoint_check (endpoint, reason) || lock_path (endpoint, reason))
        return -1;
    return wire_rebind (socket, endpoint, reason);
}
