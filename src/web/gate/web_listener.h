// The listening socket: TCP, or one in the file system for a proxy on this machine.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include "reason.h"

enum { LISTENER_PATH_SIZE = 108 };

struct web_listener {
    int fd, port;                  // fd -1: closed; port 0: the socket is in the file system
    char path[LISTENER_PATH_SIZE]; // of the socket in the file system; "": TCP
    dev_t device;                  // device and inode of the file, so that only our own is removed
    ino_t node;
};

// The path in unix:PATH, which is borrowed; NULL: the setting is ADDRESS:PORT.
const char *web_listener_path (const char *listen_at);

// Check that the setting is ADDRESS:PORT with a numeric address, or unix:PATH. 0, or -1 with a
// reason.
int web_listener_check (const char *listen_at, struct reason *reason);

// Bind and listen at ADDRESS:PORT or unix:PATH. A socket of the file system has mode 0660; one
// without a listener is replaced. 0, or -1 with a reason.
int web_listener_open (struct web_listener *self, const char *listen_at, struct reason *reason);

// Accept a connection: its descriptor, or -1 with errno.
int web_listener_accept (const struct web_listener *self, struct sockaddr_storage *ret_address,
                         socklen_t *ret_size);

// Close the listener, and remove its socket from the file system. May be called twice.
void web_listener_close (struct web_listener *self);
