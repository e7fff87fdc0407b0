// libzplan: submit plans to a plan proxy station, ask about them, and hear their results. The half
// for workers is zplan_worker.h.
//
// Errors: calls that can fail return an enum zplan_error (zplan_error.h) or, those that make an
// object, NULL with errno. That a station refuses a request is no error of the call: the reply says
// so. An argument that is NULL and must not be is an error, no crash. The library itself aborts on
// nothing; libzmq, on which it stands, aborts the process when memory is exhausted or when
// descriptors run out as it makes a socket.
//
// Threads: each object belongs to one thread at a time; objects share nothing, so each thread may
// have its own. Each has a ZeroMQ context and an I/O thread of its own, and about 12 descriptors:
// make one and keep it, rather than one a request. No object goes through a fork.
//
// There is no global state, no signal handler, and nothing to be called at the start or end of a
// program. Text given to these calls is UTF-8 and ends with a NUL; what a station sends is bytes: a
// pointer and a size, without a NUL at the end.
#ifndef ZPLAN_H
#define ZPLAN_H

#include "zplan_client.h"
#include "zplan_codes.h"
#include "zplan_error.h"
#include "zplan_events.h"
#include "zplan_frame.h"
#include "zplan_plan.h"
#include "zplan_subscriber.h"

#endif
