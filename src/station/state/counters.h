// The station's counters, one row each; logged when the station stops.
#pragma once

#include <stdint.h>

#define COUNTERS(X)                                                                                \
    X (requests)          /* messages on the request socket */                                     \
    X (refused)           /* requests answered with an error */                                    \
    X (denied)            /* requests refused as not allowed */                                    \
    X (accepted)          /* plans stored */                                                       \
    X (dropped_statuses)  /* statuses sent as requests, which are never answered */                \
    X (dropped_mailboxes) /* results that no run waits for */                                      \
    X (dropped_replies)   /* replies to peers that are gone or do not read */                      \
    X (denied_results)    /* results from peers that may not send them */                          \
    X (refused_keys)      /* connections of keys that may not connect */                           \
    X (broken_answers)    /* messages of targets that break the framing rules */                   \
    X (foreign_answers)   /* messages of targets in the envelope of a caller */                    \
    X (forged_answers)    /* answers from another target than the plan's */                        \
    X (late_answers)      /* answers of runs that have ended */                                    \
    X (runs_sent)                                                                                  \
    X (runs_ended_well)                                                                            \
    X (runs_failed)                                                                                \
    X (exhausted)         /* occurrences that failed, and are not tried again */                   \
    X (missed)            /* occurrences that were not run */                                      \
    X (dropped_steps)     /* ends of steps that their run does not wait for */                     \
    X (dropped_traces)    /* values of traceparent that were not valid */                          \
    X (busy)              /* requests refused with BUSY */                                         \
    X (timeouts)          /* runs that took longer than their plan allows */                       \
    X (cancelled)         /* runs that were cancelled */                                           \
    X (stale_commits)     /* writes refused because the run was not the current one */             \
    X (lost_data)         /* times that Redis came back without its data */                        \
    X (wrong_keys)        /* keys of the station with a wrong type, replaced */                    \
    X (stale_claims)      /* runs not sent as their lease had nearly expired */                    \
    X (lost_plans)        /* queue entries without a sound message, removed */                     \
    X (requeued)          /* plans that were missing in the queue, re-queued */                    \
    X (dropped_callbacks) /* callbacks that failed permanently, too many or too old */             \
    X (forgotten)         /* outcomes taken out of the history */                                  \
    X (broadcasts)

struct counters {
#define COUNTER_FIELD(name) uint64_t name;
    COUNTERS (COUNTER_FIELD)
#undef COUNTER_FIELD
};
