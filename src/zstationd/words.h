// Admin commands at the request socket (proto/ 7.8), answered by the station itself: `workers`
// lists the workers, `drain NAME` lets one leave when its jobs are done.
#pragma once

#include "station.h"

// Handle the call if its COMMAND is an admin command. False: it is for a worker, as are all calls
// that were forwarded or are of plans: only a connected requester may use these.
bool words_take (struct station *station, const struct target_request *request);
