// What the files of the judge share.
#pragma once

#include "judge.h"
#include "table.h"

enum {
    SECOND_US = 1000000,
    LEASE_OF_OWNER_US = 2 * SECOND_US, // OWNER_LEASE_US (owner.h)
    AHEAD_OF_DUE_US = 20000,
    LATE_US = 8 * SECOND_US, // that a client hears of a batch, of a station that was stopped
    CLOCKS_US = SECOND_US,   // by which a station may be wrong about Redis' clock
    BROADCASTS = 65536,
    UNDONES = 256 // steps, as of the data
};

struct judged_plan {
    struct table_node node; // by id
    uint64_t id;
    int target;
    bool submitted, lost, edited, may_end, removing, removed;
    bool requested;  // since it was removed
    int calms;       // since nothing of it is in Redis
    int64_t version; // that was acknowledged
    int64_t edited_us;
    int64_t created_tx, taken_tx, taken_us, score_us; // the score before this step
    int64_t moved_us; // when its run moved to another class, or was in doubt and goes on
    int64_t score_tx;
    uint64_t taken, dispatched, ended; // exec_ids
    uint64_t before, excused; // exec_ids: sent before the present run; that need no outcome
};

struct judged_token {
    struct table_node node;
    int process;
    int64_t applied_us;
    char text[48];
};

struct judged_process {
    int former;
    bool dead, must_report;
    int64_t effect_tx;
};

struct judged_limit {
    char name[16];
    int64_t limit, since_us;
    int64_t taken_us; // the last run for which it held
};

struct undone {
    struct judged_plan *plan;
    uint64_t ended;
};

struct undone_step {
    int64_t tx; // that it was
    struct undone *at;
    size_t count, room;
};

struct judge {
    const struct redis_data *data;
    char verdict[400];
    int64_t now_us, redis_us;
    int64_t lost_us, clock_us, stalled_us; // when that happened the last time
    int64_t calm_us;                       // since when, Redis' clock; INT64_MAX = it is not
    int owner;                             // process, as far as what was applied last says
    char last[48]; // the owner's token, wherever its key is; "" = there may be none
    struct table plans, tokens;
    struct judged_process *processes;
    size_t process_room;
    struct judged_limit limits[16];
    size_t limit_count;

    // the step that is applied
    int process;
    uint64_t step;
    int64_t tx; // its number, which none has again
    char token[48];
    int64_t batch, number; // before, and as it is written; -1 = it is not
    bool takes, releases, runs;
    bool sound; // until it began
    char taken_token[48];
    size_t sampled;

    uint64_t exec_id; // the greatest
    struct judged_broadcast {
        int64_t seq;
        uint64_t id, exec_id;
        int64_t tx;
    } broadcasts[BROADCASTS];
    struct undone_step undones[UNDONES];
};

// The first of them is the verdict.
void judge_find (struct judge *self, const char *invariant, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

struct judged_plan *judge_plan (const struct judge *self, uint64_t id);

// Its message, as Redis has it.
struct span judge_message (const struct judge *self, const struct judged_plan *plan);

// What a message says by this name; -1 = nothing.
int64_t judge_number (struct span message, const char *name);

// "plan:msg:TARGET:ID", or an entry of plan:ids.
bool judge_member (struct span member, int *ret_target, uint64_t *ret_id);
void judge_member_text (const struct judged_plan *plan, char out[64]);
extern const char *const judge_targets[JUDGE_TARGETS];

// Whether a limit holds for a plan: that of its target, or of its group.
bool judge_limits (const struct judge *self, const struct judged_limit *limit, struct span member,
                   int target);

// Data was lost, or a clock set, within the last so many seconds.
bool judge_excuses (const struct judge *self, int64_t seconds);

// -- invariants, by their numbers

void batches_have_no_hole (struct judge *self);                              // 1
void tokens_come_once (struct judge *self);                                  // 1
void takeovers_wait_for_the_lease (struct judge *self);                      // 2
void dispatches_have_a_lease (struct judge *self, int process, uint64_t id); // 2
void effects_follow_their_batch (struct judge *self, bool applied, const char *what,
                                 uint64_t id);                                                // 2
void losses_are_reported (struct judge *self, int process, bool lost);                        // 3
void runs_begin_when_due (struct judge *self, struct judged_plan *plan, struct span run);     // 4
void changes_stay (struct judge *self, struct judged_plan *plan, struct span message);        // 4
void due_plans_run (struct judge *self, const int64_t *up_us);                                // 5
void runs_begin_soon (struct judge *self, struct span member, int target, int64_t score_us);  // 5
void limits_hold (struct judge *self);                                                        // 6
void sent_runs_have_an_outcome (struct judge *self, struct judged_plan *plan);                // 9
void exec_ids_grow (struct judge *self, uint64_t id, uint64_t exec_id);                       // 7
void plans_are_kept (struct judge *self);                                                     // 8
void plans_end_by_a_result (struct judge *self, const struct judged_plan *plan, uint64_t id); // 8
void outcomes_come_once (struct judge *self, struct judged_plan *plan, uint64_t exec_id);     // 9
void broadcasts_are_in_the_history (struct judge *self, int64_t seq, uint64_t id,
                                    uint64_t exec_id); // 9
void records_are_whole (struct judge *self); // 4, 6: of each plan all or nothing, and counted
void bounds_hold (struct judge *self);       // 10
