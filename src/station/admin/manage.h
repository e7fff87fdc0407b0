// Admin commands: requests with the command byte NONE, a COMMAND frame with the name, and arguments
// in ARG frames. Source: proto 9.
#pragma once

#include "request.h"

// Run the command: 0 if it has replied or will; else the error for the reply, with request->reason.
int manage_request (struct station *self, struct request *request);
