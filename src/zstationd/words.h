// The words of management at the request socket (proto/ 7.8): calls that the station itself
// answers. `workers` lists them, `drain NAME` lets one go when it has done what it has.
#pragma once

#include "station.h"

// Carry out the call if its COMMAND is such a word. False: it is for a worker. That are also the
// calls that somebody forwards, and those of plans: what is done here is for who is connected.
bool words_take (struct station *station, const struct request *request);
