// Cancelling (proto/ 7.8): CLOSE_REQUEST says that the requester waits no more. A job that no
// worker has yet is taken back; the worker that has it is notified, and answers it as always.
//
// A run is named by its mailbox, from any connection: that of the station (zpland) may be another
// one by now. What has no mailbox is cancelled on the connection by which it came, and on no other.
#pragma once

#include "station.h"

// Whether the request is about this job. Without a LOCAL_ID in it, all runs of the mailbox are
// meant, the oldest of which it cancels.
bool cancel_is_of (const struct target_request *request, const struct job *job);

// The oldest of the jobs in workers' hands that it is about, and the worker; NULL = none.
struct job *cancel_find_in_hand (const struct target_server *station,
                                 const struct target_request *request, struct worker **ret_worker);

// Count and log that the job is cancelled. False: it was already, and that is counted.
bool cancel_begin (struct target_server *station, const struct target_request *request,
                   struct job *job);

// Notify the worker that has the job, if it takes cancellations. Once for each job: the worker's
// queue is bounded, and a worker whose queue is full is lost.
void cancel_notify_worker (struct target_server *station, const struct target_request *request,
                           const struct worker *worker, const struct job *job);

// "cancelled: " and the request's words.
void cancel_words (const struct target_request *request, struct reason *ret);

// The command where there is nothing to cancel: dropped and counted. It is never answered, which
// would be a result to zpland.
void cancel_stray (struct target_server *station, const struct target_request *request);
