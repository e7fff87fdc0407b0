// Cancelling (proto/ 7.8): CLOSE_REQUEST means that the requester no longer waits. A queued job is
// removed; the worker of a job in progress is notified, and still answers it.
//
// A run is identified by its mailbox, on any connection, since zpland may have reconnected. A
// request without a mailbox can only be cancelled on the connection that sent it.
#pragma once

#include "station.h"

// Whether the CLOSE_REQUEST is about this job. Without a LOCAL_ID it matches all runs of the
// mailbox; the caller then cancels the oldest.
bool cancel_matches (const struct target_request *request, const struct job *job);

// The oldest job in progress that the request is about, and its worker; NULL = none.
struct job *cancel_find_in_progress (const struct target_server *station,
                                     const struct target_request *request,
                                     struct worker **ret_worker);

// Mark the job as cancelled, count and log it. False: it was cancelled before; the request is
// counted as stray.
bool cancel_begin (struct target_server *station, const struct target_request *request,
                   struct job *job);

// Notify the worker that has the job, if it takes cancellations. Once for each job: the worker's
// queue is bounded, and a worker whose queue is full is lost.
void cancel_notify_worker (struct target_server *station, const struct target_request *request,
                           const struct worker *worker, const struct job *job);

// Count and drop a CLOSE_REQUEST that has nothing to cancel. It is not answered, since zpland would
// take the answer for a result.
void cancel_drop_stray (struct target_server *station, const struct target_request *request);
