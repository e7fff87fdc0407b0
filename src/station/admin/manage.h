// Admin commands: requests with the command byte NONE, a COMMAND frame with the name, and arguments
// in ARG frames. Source: proto 9.
#pragma once

#include "request.h"

void manage_request (struct station *self, struct request *request);
