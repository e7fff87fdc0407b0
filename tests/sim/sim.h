// The engine in simulated time: a virtual clock, a store in memory that does what the scripts of
// src/store/scripts do (sim_store.c), a station that does what src/station does with the engine's
// decisions (sim.c), and one target that a test scripts. Every step checks the invariants of a
// plan's life (sim_check.c) and fails the running test with the name and the seed of the
// simulation.
#pragma once

#include "engine.h"
#include "management.h"

enum { SIM_PLANS_MAX = 64 };

#define SIM_S          INT64_C (1000000)    // the clock runs in microseconds
#define SIM_LEASE_US   (300 * SIM_S)        // plan_exec_timeout
#define SIM_SEND_US    (3 * SIM_S)          // plan_send_timeout
#define SIM_START_TIME INT64_C (1767225600) // 2026-01-01T00:00:00Z, a Thursday

// A run besides the schedule that management asked for.
enum sim_order { ORDER_NONE, ORDER_GIVEN, ORDER_OUT };

// A plan as the store keeps it, and what the checks remember of it.
struct sim_plan {
    uint64_t id;
    char *message;    // plan:msg; NULL = the plan is gone
    int64_t revision; // of the message
    bool queued;      // in plan:time:set
    int64_t score_us; // while queued
    uint64_t held;    // plan:run, the exec_id of the run in hand; 0 = none
    bool held_again;  // the "+" behind it: an earlier run ran out of its lease and may still answer
    bool no_status;   // the "?" behind it: it gave no heartbeat
    bool lost;        // claimed to end that run, as its lease is over
    bool waits;       // plan:wait
    bool has_work;    // plan:work
    int64_t told_us;  // plan:told; 0 = never
    int64_t failures; // broadcasts of failures
    int64_t results;  // broadcasts of results

    int64_t fires;        // dispatches
    int64_t counted;      // runs of the schedule that ended well
    int64_t skipped;      // the last skip_num seen
    int64_t asked;        // occurrences that management wanted skipped
    int64_t last_time;    // the last nominal time seen; it never goes back
    int64_t free_us;      // not fired again before this moment
    bool stopped;         // paused, closed or parked, and not reset since
    bool closed;          // closed by management
    enum sim_order order; // a run outside the schedule
    int64_t order_time;   // the plan_time that it leaves as it is
    int64_t order_errors; // and the error_count
    int64_t missed;       // occurrences that were reported as missed
    int64_t run_last;     // the last nominal time that was run
    bool untried;         // since its last run it was reset, or its target did not take it
    int64_t seen;         // occurrences that were run or missed, each once

    // The run in the station's hand, if any, with the plan as the station knows it.
    struct plan *plan;
    struct run run;
    uint64_t connection; // it was sent on; 0: it was looked up
    bool unanswered;
    int64_t deadline_us;
    int64_t end_us; // of its timeout; 0 = none
};

// One dispatch.
struct sim_fire {
    struct sim_plan *plan;
    int64_t at_us;
    int64_t plan_time;
    uint64_t exec_id;
    bool earlier_may_answer;
    bool extra;   // besides the schedule
    bool counted; // its run ended well
};

// A message of the target on its way to the station.
struct sim_answer {
    int64_t at_us;
    uint64_t order; // equal times arrive in the order they were sent
    uint64_t plan_id;
    uint64_t exec_id; // of the run it is about
    uint8_t status;
    bool with_local_id;
    uint64_t connection; // 0: to the request socket
};

struct sim {
    char name[96]; // for messages: the test, and the seed of a random run
    int64_t now_us;
    struct zone *zone;

    struct sim_plan plans[SIM_PLANS_MAX];
    size_t plan_count;
    uint64_t exec;     // plan:meta exec
    int64_t revisions; // written so far

    // The target: what it does with a dispatch. It answers with sim_answer ().
    void (*target) (struct sim *sim, const struct sim_fire *fire);
    enum target_type target_type;
    uint64_t connection;  // of the target, 0 = it is away
    uint64_t connections; // so far
    uint64_t random;      // for targets that need it

    struct sim_fire *fires; // all of them, in order
    size_t fire_count, fire_capacity;
    struct sim_answer *answers;
    size_t answer_count, answer_capacity;
    uint64_t answers_sent;
    int64_t late, dropped; // answers; those to no run
    int64_t stale, redone; // commits of a run that is over; of a plan changed meanwhile
};

// How an answer travels.
enum sim_way { SIM_CONNECTION, SIM_REQUEST_SOCKET };
enum sim_local_id { SIM_WITH_LOCAL_ID, SIM_WITHOUT_LOCAL_ID };

// The clock stands at SIM_START_TIME, the target is connected. `posix_tz` is the zone as a POSIX TZ
// string, NULL is UTC.
void sim_start (struct sim *self, const char *name, const char *posix_tz,
                void (*target) (struct sim *sim, const struct sim_fire *fire));
void sim_end (struct sim *self);

// Submit a plan frame (JSON). NULL: it was refused.
struct sim_plan *sim_submit (struct sim *self, const char *plan_frame);

// A management command; `count` is that of skip. False: it was refused.
bool sim_manage (struct sim *self, struct sim_plan *plan, enum manage_command command,
                 int64_t count);

// End the run that is out. False: there is none.
bool sim_cancel (struct sim *self, struct sim_plan *plan);

// The target answers this dispatch after a delay.
void sim_answer (struct sim *self, const struct sim_fire *fire, int64_t delay_us, uint8_t status,
                 enum sim_way way, enum sim_local_id local_id);

// Let everything happen up to this moment, or to the end of all plans; at most `steps` moments.
// False: the steps did not suffice.
bool sim_run_until (struct sim *self, int64_t until_us, size_t steps);

// The target goes away, or comes back.
void sim_disconnect (struct sim *self);
void sim_connect (struct sim *self);

// The station dies and is started anew after this long; what was under way to it is lost.
void sim_restart (struct sim *self, int64_t down_us);

// The stored plan; free it with plan_destroy.
struct plan *sim_stored (struct sim *self, const struct sim_plan *plan);

// Seconds since SIM_START_TIME, as the clock's microseconds.
int64_t sim_at (int64_t seconds);
