// Lists plans in pages, ordered by id or otherwise.
#include <stdlib.h>

#include "frames.h"
#include "memory.h"
#include "plan_step.h"
#include "store_private.h"

// -- a list

// Elements before the plans, and elements per plan, in the answers of list.lua and ordered.lua.
enum { PAGE_HEAD = 1, PLAN_FIELDS = 3, ORDERED_HEAD = 2, ORDERED_FIELDS = 4 };
enum { MESSAGES_MAX = 250 }; // messages that a page with a filter examines

struct list_call {
    struct store *store;
    struct store_filter filter;
    struct frames *members;
    uint64_t *ids; // STORE_RUNNING: ids to read
    size_t id_count;
    struct store_listed *plans; // plans of the answer
    struct store_page page;     // the answer
    store_page_fn *reply;
    void *owner;
};

// Whether the plan is listed by the filter's flow_run. Timers of flows never are: `flow show` shows
// them.
static bool matches_flow_run (const struct store_filter *filter, struct span message)
{
    struct plan_step step;
    bool is_step = plan_step_stored (message, &step);
    if (is_step && step.kind == STEP_TIMER)
        return false;
    if (!filter->flow_run)
        return !is_step;
    return (is_step && step.run == filter->flow_run) ||
           message_number (message, "flow_run") == (int64_t)filter->flow_run;
}

// Whether the plan belongs to the requested order; only STORE_STOPPED and STORE_DEAD exclude plans.
static bool matches_stop_order (const struct store_filter *filter, struct span message)
{
    enum stop_state stop_state = message_stop_state (message);
    return (filter->order != STORE_STOPPED || stop_state != STOP_NONE) &&
           (filter->order != STORE_DEAD || stop_state == STOP_DEAD);
}

static bool matches_filter (const struct list_call *self, struct span message)
{
    const struct store_filter *filter = &self->filter;
    for (size_t i = 0; i < filter->member_count; i++)
        if (!message_has_member (message, self->members->at[i]))
            return false;
    return matches_flow_run (filter, message) && matches_stop_order (filter, message) &&
           (filter->state < 0 || message_number (message, "plan_state") == filter->state) &&
           (filter->type < 0 || message_number (message, "plan_type") == filter->type);
}

// -- the page

static void answer_page (struct list_call *self)
{
    self->page.plans = self->plans;
    self->reply (self->owner, &self->page);
    for (size_t i = 0; i < self->page.count; i++)
        free ((void *)(uintptr_t)self->plans[i].message.data);
    free (self->plans);
    free (self->ids);
    free (self->members);
    free (self);
}

// Add the plan to the page if the filter selects it.
static void add_if_selected (struct list_call *self, struct store_listed plan, struct span stored,
                             uint64_t exec_id)
{
    size_t size;
    uint8_t *message = message_as_running (stored, exec_id, &size);
    plan.message = span_of (message, size);
    if (matches_filter (self, plan.message))
        self->plans[self->page.count++] = plan;
    else
        free (message);
}

static void add_read_plan (struct list_call *self, struct store_listed plan,
                           const redisReply *message, const redisReply *run)
{
    uint64_t exec_id;
    bool earlier;
    run_parse (reply_text (run), &exec_id, &earlier);
    add_if_selected (self, plan, reply_text (message), exec_id);
}

// Begin the page with the result of the read. Returns how many plans the reply has: each has
// `fields` elements, after `head` other elements.
static size_t begin_page (struct list_call *self, const redisReply *reply, size_t head,
                          size_t fields)
{
    self->page.result = reply_result (reply, &self->page.error);
    size_t most = reply_is_array (reply, head) ? (reply->elements - head) / fields : 0;
    self->plans = memory_new ((most + 1) * sizeof *self->plans);
    return most;
}

static void on_index_page (void *owner, const redisReply *reply)
{
    struct list_call *self = owner;
    size_t most = begin_page (self, reply, PAGE_HEAD, PLAN_FIELDS);
    if (reply_is_array (reply, PAGE_HEAD))
        ident_parse (reply_text (reply->element[0]), &self->page.last);
    for (size_t i = 0; i < most; i++) { // an entry of the index, its message and its run
        redisReply *const *fields = reply->element + PAGE_HEAD + PLAN_FIELDS * i;
        struct store_listed plan = {0};
        if (index_entry_parse (reply_text (fields[0]), &plan.plan_id, &plan.station))
            add_read_plan (self, plan, fields[1], fields[2]);
    }
    answer_page (self);
}

// How many messages a page examines: with a filter more than `limit`, as not all match.
static int64_t examined_max (const struct store_filter *filter)
{
    bool selects =
        filter->state >= 0 || filter->type >= 0 || filter->member_count || filter->flow_run;
    return selects && filter->limit < MESSAGES_MAX ? MESSAGES_MAX : filter->limit;
}

static void read_page_by_id (struct list_call *self)
{
    const struct store_filter *filter = &self->filter;
    char id[IDENT_SIZE] = "";
    if (filter->after)
        id_write_digits (filter->after, id);
    store_run_script (self->store, SCRIPT_LIST, 2,
                      WORDS (TEXT (KEY_INDEX), TEXT (KEY_RUNS), TEXT (id), TEXT (filter->station),
                             NUMBER (examined_max (filter))),
                      on_index_page, self);
}

// -- in the order of a sorted set

static const char *const order_keys[STORE_ORDERS] = {
    [STORE_BY_TIME] = KEY_TIME_SET, [STORE_STOPPED] = KEY_STOPPED, [STORE_DEAD] = KEY_DEAD};

// Add a plan of ordered.lua's answer: `fields` are its score, member, message and run. A member
// without a message is removed from the lists of stopped plans.
static void add_ordered_plan (struct list_call *self, redisReply *const *fields)
{
    struct store_listed plan = {.score_us = reply_score_us (fields[0])};
    struct core_view view;
    if (!message_key_parse (reply_text (fields[1]), &plan.station, &plan.plan_id))
        return;
    if (reply_text (fields[2]).size)
        add_read_plan (self, plan, fields[2], fields[3]);
    else if (self->filter.order != STORE_BY_TIME &&
             !core_view (self->store->core, plan.plan_id, &view)) // no write of the plan is pending
        store_put (self->store, WORDS (TEXT ("ZREM"), TEXT (order_keys[self->filter.order]),
                                       reply_text (fields[1])));
}

static void on_ordered_page (void *owner, const redisReply *reply)
{
    struct list_call *self = owner;
    struct store_page *page = &self->page;
    size_t most = begin_page (self, reply, ORDERED_HEAD, ORDERED_FIELDS);
    if (reply_is_array (reply, ORDERED_HEAD)) {
        page->last_us = reply_score_us (reply->element[0]);
        if (!message_key_parse (reply_text (reply->element[1]), &page->last_station, &page->last))
            page->last = 0;
    }
    for (size_t i = 0; i < most; i++)
        add_ordered_plan (self, reply->element + ORDERED_HEAD + ORDERED_FIELDS * i);
    answer_page (self);
}

static void read_ordered_page (struct list_call *self)
{
    const struct store_filter *filter = &self->filter;
    struct span place = filter->after ? NUMBER (filter->after_us) : TEXT ("");
    struct span member =
        filter->after ? PLAN_KEY (KEY_MESSAGE, span_text (filter->after_station), filter->after)
                      : TEXT ("");
    bool by_time = filter->order == STORE_BY_TIME, ascends = by_time || filter->oldest;
    store_run_script (self->store, SCRIPT_ORDERED, 2,
                      WORDS (TEXT (order_keys[filter->order]), TEXT (KEY_RUNS), place, member,
                             TEXT (ascends ? "" : "1"), TEXT (filter->station),
                             NUMBER_OR_EMPTY (filter->from_s), NUMBER_OR_EMPTY (filter->to_s),
                             NUMBER (examined_max (filter)), TEXT (by_time ? "1" : "")),
                      on_ordered_page, self);
}

// -- runs in progress, which are in memory

// Add the runs that are still in progress to the page.
static void on_run_messages (void *owner, const redisReply *reply)
{
    struct list_call *self = owner;
    size_t found = begin_page (self, reply, 0, 1);
    if (found > self->id_count)
        found = self->id_count;
    self->page.last = found ? self->ids[found - 1] : 0;
    for (size_t i = 0; i < found; i++) {
        struct core_view view;
        struct span message = reply_text (reply->element[i]);
        if (core_view (self->store->core, self->ids[i], &view) && view.exec_id && message.size)
            add_if_selected (self,
                             (struct store_listed){.plan_id = self->ids[i], .station = view.target},
                             message, view.exec_id);
    }
    answer_page (self);
}

static void answer_no_running (void *owner, enum store_result result, const char *error)
{
    struct list_call *self = owner;
    self->page = (struct store_page){.result = result, .error = error};
    answer_page (self);
}

// Read the messages of runs in progress, whose ids the core knows.
static void read_running_page (struct list_call *self)
{
    struct store *store = self->store;
    size_t most = (size_t)examined_max (&self->filter);
    self->ids = memory_new (most * sizeof *self->ids);
    self->id_count = core_running (store->core, span_text (self->filter.station),
                                   self->filter.after, self->ids, most);
    if (!self->id_count || !store_is_serving (store)) {
        store_reply_at_turn_end (store, store_is_serving (store) ? STORE_DONE : STORE_LOST, "",
                                 answer_no_running, self);
        return;
    }
    char (*members)[PLAN_KEY_SIZE] = memory_new (most * sizeof *members);
    struct span *keys = memory_new (most * sizeof *keys);
    for (size_t i = 0; i < self->id_count; i++) {
        struct core_view view;
        core_view (store->core, self->ids[i], &view);
        plan_key_make (members[i], KEY_MESSAGE, view.target, self->ids[i]);
        keys[i] = span_text (members[i]);
    }
    store_run_script (store, SCRIPT_MESSAGES, self->id_count, keys, self->id_count, on_run_messages,
                      self);
    free (keys);
    free (members);
}

void store_list (struct store *self, const struct store_filter *filter, store_page_fn *reply,
                 void *owner)
{
    struct list_call *call = memory_new (sizeof *call);
    *call = (struct list_call){.store = self, .filter = *filter, .reply = reply, .owner = owner};
    call->members = frames_copy (filter->members, filter->member_count);
    if (filter->order == STORE_BY_ID)
        read_page_by_id (call);
    else if (filter->order == STORE_RUNNING)
        read_running_page (call);
    else
        read_ordered_page (call);
}
