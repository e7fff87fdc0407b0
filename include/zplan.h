// libzplan: submit plans to a plan proxy station, manage them, and receive their results. The part
// for workers is zplan_worker.h.
//
// Errors: calls that can fail return an enum zplan_error (zplan_error.h) or, those that make an
// object, NULL with errno. A request that the station rejects is not an error of the call: the
// reply has the reason. A NULL argument where none is allowed is an error, not a crash. The library
// itself never aborts; libzmq, which it uses, aborts the process when memory is exhausted or when
// descriptors run out while it makes a socket.
//
// Threads: each object belongs to one thread at a time. Objects share nothing, so each thread may
// have its own. Each has a ZeroMQ context and an I/O thread of its own, and about 10 descriptors (a
// subscriber with recovery: 20): make one and keep it, rather than one per request. No object
// survives a fork.
//
// There is no global state, no signal handler, and nothing to call at the start or end of a
// program. Strings passed to these calls are UTF-8 and end with a NUL. Data from a station are
// bytes: a pointer and a size, without a NUL at the end.
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
