// Declarations that the files of the core share.
#pragma once

#include "core_pull.h"
#include "heap.h"
#include "pool.h"
#include "ready.h"
#include "table.h"

// The run of a plan, as plan:run has it.
enum flight {
    FLIGHT_NONE,
    FLIGHT_TAKEN,     // "EXEC": its lease runs
    FLIGHT_NO_STATUS, // "EXEC?": it sent no status in time
    FLIGHT_OFFERED,   // "EXEC?!": workers may take it
    FLIGHT_FLOW,      // "EXEC~": the run of a flow, which continues beyond its lease
    FLIGHT_EARLIER    // "+": no run, but an earlier one may still answer
};

// The parts of a plan that the next batch writes.
enum {
    WRITE_MESSAGE = 1,
    WRITE_QUEUE = 2,
    WRITE_RUN = 4,
    WRITE_CLASS = 8,
    WRITE_LISTED = 16,
    WRITE_HEAD = 32, // the head of the message, which says that the plan runs
    WRITE_TEAM = 64
};

// The offers of a target, in the order in which workers get them: between `first` and `end`.
struct offer_list {
    struct open_plan **at;
    size_t first, end, room;
    size_t bytes; // memory of the offered plans, approximately
};

struct core_target {
    struct table_node node; // by name
    char name[STATION_NAME_MAX + 1];
    size_t name_size;
    int64_t plans;
    bool has_waiting; // plan:wait:NAME may have members
    uint64_t waits;   // number of waits that began
    struct ready ready;
    // If `cut`: memory was full, so due plans of `cut_priority` and below, after `cut_at`, are in
    // Redis only.
    bool cut;
    bool read_more; // the next page of these plans is to be read at once
    int cut_priority;
    struct core_cursor cut_at;
    int64_t unread;            // number of plans that are in Redis only
    int64_t unread_us;         // their greatest score
    size_t kept;               // number of plans that were ready after the cut
    struct ready exempt;       // due plans to which no limits apply: timers, and plans with runs in
                               // flight (offered, or of flows) that are to be examined
    struct limit_state *limit; // NULL = none
    struct offer_list offers;
    // The members below are set for each claim.
    struct core_slots slots; // `target` empty: the claim does not name it
    int64_t free_slots, taken;
    struct core_target *next_target;
};

static inline struct span core_target_name (const struct core_target *target)
{
    return span_of (target->name, target->name_size);
}

// The record of a plan that workers fetch.
struct pull_record {
    struct open_plan *plan;
    struct team *team;
    struct heap_node busy; // when the last of its running workers will be late
    bool offered;          // the plan is among the offers of its target
    int64_t order;         // offers are sorted by this number, then by id
    size_t bytes;          // its share of the bytes of the offers
};

struct open_plan {
    struct table_node node; // by id
    uint64_t id;
    struct core_target *target;
    uint8_t *message; // NULL = in Redis, or in rows that are not acknowledged
    int64_t revision; // -1 = not known
    union {           // `lease.at` is the score: the lease of a run ends at its plan's score
        int64_t score_us;
        struct heap_node lease;
    };
    uint64_t exec_id;
    char *group;              // NULL = none
    char *caller;             // the submitter, until the submission is acknowledged; NULL = none
    struct pull_record *pull; // NULL = no team, or not known
    uint32_t message_size;
    uint8_t writes;  // in the open batch: WRITE_...
    uint8_t batches; // number of batches that write it
    uint8_t priority;
    uint8_t flight;              // enum flight
    bool earlier_may_answer : 1; // an earlier run may still answer
    bool placed : 1;             // `queued` and `score_us` are known
    bool queued : 1;
    bool submitted : 1; // its submission is not acknowledged
    bool gone : 1;
    bool changed_in_run : 1; // an admin changed it while it runs: `message` is kept until the run
                             // ends
    bool lent : 1;           // `message` belongs to the rows of the batch in flight
    bool chosen : 1;
    bool prefetching : 1;   // its message and score are being read, to prefetch them
    bool charged : 1;       // it counts toward the limits of its target and group
    bool flow_charged : 1;  // the run of a flow counts toward its target's limit; its calls count
                            // toward its group's
    bool prepared : 1;      // it is ready, and its message is known
    bool lease_expired : 1; // its lease has expired, and it is ready
    bool pull_run : 1;      // its run is for workers: its message stays here until the run ends
    bool team_known : 1;    // its team is loaded; `pull` NULL = it has none
};

enum { MAX_PRIORITY = 255 };

struct window_plan {
    int64_t due_us;
    uint64_t id;
    struct core_target *target;
    char *class; // "PRIORITY:GROUP"; NULL = neither
};

struct window {
    struct window_plan *plans; // a heap by (due_us, id)
    size_t count, room;
};

// The plans that a batch writes, and which parts.
struct plan_list {
    struct written_plan {
        struct open_plan *plan;
        unsigned writes;
    } * at;
    size_t count, room;
};

// A failure that was broadcast within the last minute.
struct broadcast_failure {
    struct table_node node; // by plan id
    struct broadcast_failure *next;
    uint64_t id;
    int64_t at_us;
    char target[];
};

// An accepted report that is not in Redis yet.
struct kept_report {
    struct kept_report *next;
    int64_t score;
    char name[];
};

// The number of plans of a caller, or the change of a field of plan:count.
struct plan_tally {
    struct table_node node;
    int64_t plans;
    char name[];
};

struct core {
    struct core_bounds bounds;
    uint64_t resets;
    struct table targets, open, callers;
    struct pool memory; // the memory of `open`
    struct limit_table limits;
    struct core_target *first_target; // list of all targets
    struct heap leases;
    struct window window;
    struct core_cursor cursor;
    bool reading;                    // a page is in flight
    struct core_target *page_target; // the target of that page; NULL = it is for the window
    size_t cuts;                     // targets that have plans in Redis only
    size_t uncut_bytes;     // bytes of ready plans at the last cut, if it freed too little; else 0
    uint64_t rereads;       // how often reading restarted
    uint64_t page_rereads;  // `rereads` when the page in flight was requested
    int64_t stale;          // number of ready entries whose plan is no longer at that position
    int64_t ahead_until_us; // plans due until then have left the window
    int64_t ready_us;       // least score that became ready since the last choice; INT64_MAX = none
    int64_t rate_wake_us;   // when a rate allows a waiting run; INT64_MAX = none waits

    int64_t plans, seq, sub;
    uint64_t exec_id, exec_written;
    uint64_t plan_id;         // the greatest id assigned
    uint64_t plan_id_written; // the greatest id written
    int64_t seq_written;      // the last `seq` sent with a batch
    int64_t seq_acked;        // the last `seq` acknowledged
    char epoch[24];
    bool limit_waits; // ready plans wait for the end of a run of their target or group
    bool new_epoch, classes, tokens_changed;
    bool has_earlier;      // some plans have FLIGHT_EARLIER in Redis
    struct table failures; // failures that were broadcast within the last minute
    struct broadcast_failure *first_failure, **last_failure;

    int64_t batch; // number of the open batch
    struct rows rows[2];
    size_t message_bytes;   // messages that the open batch writes
    struct rows *gathering; // the rows of the open batch
    struct rows *in_flight; // the rows of the batch in flight; NULL = none
    struct plan_list touched, batch_plans;
    struct table counts; // changes of plan:count in the open batch

    struct heap busy;                      // pull_record.busy of plans with workers at work
    struct kept_report *reports;           // to be written with the open batch
    struct kept_report *reports_in_flight; // written with the batch in flight
    struct core_team_name *unread;         // runs loaded as offered, whose teams are not loaded yet
    size_t unread_count, unread_room;
    struct team *returned_team; // the team that core_pull_team returned
};

enum {
    HEAD_ROOM = 80, // buffer size for open_running_head
    // Conditions for keeping the message of an idle plan in memory for its next run:
    PREPARED_US = 20000,    // how soon the plan is due, at most
    PREPARED_BYTES = 65536, // size of the message, at most
    PREPARED_MAX = 32768    // number of open plans, less than this
};

// The target of this name; NULL: the core does not know it.
struct core_target *core_find_target (const struct core *self, struct span name);

// The target of this name, added if the core does not know it.
struct core_target *core_target_for (struct core *self, struct span name);

// The open plan; NULL: it is not open.
struct open_plan *open_find (const struct core *self, struct span target, uint64_t id);
struct open_plan *open_find_in (const struct core *self, const struct core_target *target,
                                uint64_t id);
struct open_plan *open_find_id (const struct core *self, uint64_t id);

// The open plan, if this run of it is in flight; else NULL.
struct open_plan *open_find_run (const struct core *self, struct span target, uint64_t id,
                                 uint64_t exec_id);

// The open plan, opened if it is not.
struct open_plan *open_find_or_add (struct core *self, struct core_target *target, uint64_t id);

// Mark these parts of a plan to be written.
void open_mark_written (struct core *self, struct open_plan *plan, unsigned writes);

// If a plan has no run and nothing to write, move it to the window or the ready plans, and close it
// unless its message is kept for its run.
void open_close_if_idle (struct core *self, struct open_plan *plan, int64_t now_us);

// Close a plan: free its record. Nothing is written.
void open_close (struct core *self, struct open_plan *plan);

// Replace the message by a copy of this one, which the next batch writes.
void open_set_message (struct core *self, struct open_plan *plan, struct span message,
                       int64_t revision);

// Whether the message begins with the fixed-width numbers that the station writes: they can be
// overwritten in place.
bool open_has_head (const struct open_plan *plan);

// Write the head of a message that says that the plan runs. Returns its size.
size_t open_running_head (const struct open_plan *plan, char out[HEAD_ROOM]);

// Set the submitter of a plan; empty = none.
void open_set_caller (struct open_plan *plan, struct span caller);

// The name of the plan's group; empty: it has none.
static inline struct span open_group (const struct open_plan *plan)
{
    return span_text (plan->group ? plan->group : "");
}

// Set priority and group of a plan; a group that it had was freed. Nothing is written.
void open_init_class (struct open_plan *plan, int priority, struct span group);

// Change priority and group of a plan. Its run then counts toward the limit of the new group.
void open_set_class (struct core *self, struct open_plan *plan, int priority, struct span group);

// The class of a plan as text, to be freed by the caller; NULL = none.
char *open_class (const struct open_plan *plan);

// Take the plan out of the queue.
void open_unqueue (struct core *self, struct open_plan *plan);

// Queue the plan at this score: its due time, or the end of the lease of its run.
void open_queue (struct core *self, struct open_plan *plan, int64_t score_us);

// The plan begins to wait for its target to connect, or stops waiting.
void open_set_waiting (struct core *self, const struct open_plan *plan, bool waits, int64_t now_us);

// The run of a plan begins to count toward the limits of its target and group, and uses their
// rates.
void open_charge (struct core *self, struct open_plan *plan, int64_t now_us);

// The run of a plan stops counting toward limits.
void open_discharge (struct core *self, struct open_plan *plan);

// The run of a flow counts toward the limit of its target until it ends.
void open_charge_flow (struct core *self, struct open_plan *plan);

// Count a run that was in progress already: it uses no rate.
void open_charge_running (struct core *self, struct open_plan *plan);

// The limit of the plan's group; NULL = none.
struct limit_state *group_limit (const struct core *self, const struct open_plan *plan);

// Change the number of plans of a target ('s', its name) or of a caller ('c', its field of
// plan:count).
void core_change_plan_count (struct core *self, char kind, struct span name, int64_t change);

// The key of a plan that begins with the prefix `start`; in the open batch.
struct span key_of (struct core *self, const char *start, const struct open_plan *plan);

// The plan's member of plan:time:set, which is also the key of its message; in the open batch.
struct span member_of (struct core *self, const struct open_plan *plan);

// Parse "PRIORITY:GROUP". Returns the group, which borrows from `class`; one that is too long,
// which no station writes, counts as none.
struct span class_group (struct span class, int *ret_priority);

// The tally with this name; NULL: there is none.
struct plan_tally *tally_find (const struct table *table, struct span name);
void tallies_free (struct table *table);

// Process what is due: plans of the window that are due within `ahead_us`, and plans whose lease
// has expired, become ready; runs whose workers are all late stop counting toward limits.
void core_advance (struct core *self, int64_t now_us, int64_t ahead_us);

// Add a plan to the window, which takes ownership of its class.
void window_push (struct core *self, struct window_plan plan);

// Empty the window, to read the queue again from its start.
void window_restart (struct core *self);

// Change the class of a plan, if it is in the window.
void window_set_class (struct core *self, const struct open_plan *plan);

// Whether a member of the queue is not after the cursor of the window: it was read, if it existed.
bool core_cursor_covers (const struct core *self, const struct core_target *target, uint64_t id,
                         int64_t score_us);

// Add a plan to the ready ones of a target.
void core_make_ready (struct core *self, struct core_target *target, struct ready_plan plan,
                      int priority, struct span group);

// As core_make_ready, but a plan that is cut off stays in Redis only. Returns whether it is ready.
bool core_place_ready (struct core *self, struct core_target *target, struct ready_plan plan,
                       int priority, struct span group);

// Whether this due plan is in Redis only (core_cut.c).
bool is_cut (const struct core_target *target, uint64_t id, int64_t score_us, int priority);

// Count one plan less in Redis only: it is no longer due.
void cut_uncount (struct core_target *target);

// If memory is full, drop ready plans of the target that uses most of it: of its lowest
// priorities, the half that is due last.
void core_bound_ready_memory (struct core *self);

// A target whose cut plans are to be read now; NULL = none.
struct core_target *cut_find_readable (const struct core *self, int64_t now_us);

// Load a page of the queue that was read for a target with cut plans, as core_load_page.
void cut_load_page (struct core *self, struct core_target *target,
                    const struct core_member *members, size_t count, size_t all);

// Forget the cut of a target, and the number of its plans that are in Redis only.
void cut_clear (struct core *self, struct core_target *target);

// The cursor at this member of the queue.
struct core_cursor cursor_at (const struct core_target *target, uint64_t id, int64_t score_us);

// Whether a member of the queue is not after the cursor.
bool cursor_covers (const struct core_cursor *cursor, const struct core_target *target, uint64_t id,
                    int64_t score_us);

// Load a member of the queue into the window. False: its plan is open, and the score that was read
// may be outdated.
bool core_load_member (struct core *self, const struct core_member *member);

// Make plans of the window ready that are due until `until_us`, at most `most`.
void window_move_due (struct core *self, int64_t until_us, int most);

// Make an open plan ready: its lease has expired, or it was not taken.
void open_make_ready (struct core *self, const struct open_plan *plan, int64_t due_us);

// Whether the plan has a run that has not ended.
bool open_has_run (const struct open_plan *plan);

// -- plans that workers fetch

// The record of a plan with its team; a new team has no rule yet.
struct pull_record *pull_record_for (struct open_plan *plan);

// The run has ended: withdraw its offer, and stop watching its workers.
void pull_end_run (struct core *self, struct open_plan *plan);

// Free the record with its team, after pull_end_run.
void pull_drop_record (struct core *self, struct open_plan *plan);

// Read the rule of the team from a changed message.
void pull_read_rule (struct open_plan *plan);

// Stop counting runs whose workers are all late toward limits.
void pull_discharge_late (struct core *self, int64_t now_us);

// The end of a run must be decided and written within this time; else the run is examined again.
enum { PULL_END_US = 1000000 };

// Update a run after a change of its team: offer it while more workers may take it, count it toward
// limits while workers are at work, and queue it for when a worker, the lease or the run times out.
struct pull_state {
    int64_t free;                // how many more workers may take it
    bool over;                   // the plan's timeout has passed
    struct team_outcome outcome; // borrowed from the team
};
struct pull_state pull_update_run (struct core *self, struct open_plan *plan, int64_t lease_us,
                                   int64_t now_us);

// The lowest priority of which more plans may be offered; MAX_PRIORITY + 1 = none.
int offers_lowest_priority (const struct core *self, const struct core_target *target);

// Remove the plan from the offers.
void pull_withdraw (struct open_plan *plan);

// Remember a plan that was loaded as offered: its team must be read.
void pull_note_unread (struct core *self, struct open_plan *plan);

// Add the rows of the team of a plan.
void pull_write_team (struct core *self, struct open_plan *plan);

// Add the rows of the accepted reports of the open batch.
void reports_write (struct core *self);
void reports_free (struct kept_report **list);

// A copy of an outcome that lives as long as the rows of the open batch.
struct team_outcome outcome_copy (struct core *self, const struct team_outcome *outcome);
