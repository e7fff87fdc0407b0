// Who may connect to the station when it has --curve: the keys in the folder --allow.
//
// libzmq asks within the process about each new connection (ZeroMQ RFC 27). The folder is checked
// then, and read when it or a file in it has changed; with many files not at each, so that attempts
// to connect take a bounded share of the time. Who is connected already stays so.
#pragma once

#include <stdbool.h>

#include "reason.h"

struct allow;

// Take the questions from now on; before any CURVE server is bound. NULL with a reason: the folder
// cannot be read, or a file in it is no public certificate. Files whose name begins with '.' or
// ends with "_secret" are left alone.
struct allow *allow_new (const char *folder, struct reason *reason);
void allow_destroy (struct allow **self);

// The socket on which questions come, to wait for.
void *allow_socket (const struct allow *self);

enum allow_answer { ALLOW_NOT_ASKED, ALLOW_LET_IN, ALLOW_REFUSED };

// Answer one question.
enum allow_answer allow_answer (struct allow *self);
