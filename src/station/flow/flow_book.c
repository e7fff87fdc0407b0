#include "flow_book.h"

#include <stdlib.h>

#include "log.h"
#include "memory.h"
#include "store_flow.h"

enum { CACHE_MAX = 64 << 20 }; // bytes of compiled definitions

// A caller that waits for a definition.
struct flow_wait {
    struct flow_wait *next;
    char name[FLOW_NAME_MAX + 1];
    int version;
    flow_book_fn *reply;
    void *owner;
};

// A definition that is being read or parsed, and the callers that wait for it.
struct flow_load {
    struct flow_load *next;
    struct station *station;
    char name[FLOW_NAME_MAX + 1];
    int version;
    size_t text_size;
    struct flow_wait *first, **last;
};

static struct flow_entry *find_entry (const struct station *self, struct span name)
{
    return self->flows ? flow_names_find (&self->flows->names, name) : NULL;
}

// -- names

static bool is_target_name (const struct station *self, struct span name)
{
    for (size_t i = 0; i < self->target_count; i++)
        if (span_is (name, target_name (self->targets[i])))
            return true;
    return false;
}

bool flow_book_has (const struct station *self, struct span name)
{
    return find_entry (self, name) && !is_target_name (self, name);
}

bool flow_book_takes (const struct station *self, struct span name)
{
    return flow_book_has (self, name) && !span_is (name, self->flows->removing);
}

bool flow_book_claims (const struct station *self, struct span name)
{
    return find_entry (self, name) || (self->flows && span_is (name, self->flows->claimed));
}

int flow_book_version (const struct station *self, struct span name)
{
    const struct flow_entry *entry = find_entry (self, name);
    return entry ? entry->use : 0;
}

void flow_book_copy_names (const struct station *self, struct flow_known *ret)
{
    *ret = (struct flow_known){.targets = json_object ()};
    flow_names_copy (&ret->flows, &self->flows->names);
    for (size_t i = 0; i < self->target_count; i++)
        json_object_set_new (ret->targets, target_name (self->targets[i]), json_true ());
}

// -- the names, as Redis has them

static void add_stored_name (struct flow_names *names, const struct store_flow_head *head)
{
    struct flow_entry *entry = flow_names_add (names, head->name);
    entry->use = head->use;
    entry->last = head->last > head->use ? head->last : head->use;
    entry->updated = head->updated;
    flow_entry_set_facts (entry, head->info.size ? flow_facts_read (head->info) : NULL);
    if (!entry->use || !entry->facts)
        log_event (LEVEL_ERROR, "flow.unreadable", "flow=%s field=%s", entry->name,
                   entry->use ? "info" : "use");
}

static void on_repaired (void *owner, const struct flow *flow, int version, const char *reason)
{
    (void)owner, (void)flow, (void)version,
        (void)reason; // nothing to do: the facts are set, or the error is logged
}

// Recompile flows without facts, as their entries were edited by hand: some now, the others when
// they are requested.
static void repair_flows (struct station *self)
{
    enum { REPAIRED_MAX = 100 };
    const struct flow_names *names = &self->flows->names;
    size_t repaired_count = 0;
    for (size_t i = 0; i < names->count && repaired_count < REPAIRED_MAX; i++) {
        const struct flow_entry *entry = &names->entries[i];
        if (entry->facts || !entry->use)
            continue;
        repaired_count++;
        flow_book_get (self, entry->name, entry->use, on_repaired, self);
    }
}

// The names and versions of all flows have arrived.
static void on_flow_names (void *owner, const struct store_flow_heads *answer)
{
    struct station *self = owner;
    struct flow_book *book = self->flows;
    if (answer->result == STORE_DONE) {
        flow_names_clear (&book->names);
        for (size_t i = 0; i < answer->count; i++)
            add_stored_name (&book->names, &answer->heads[i]);
        flow_names_recompute (&book->names);
        repair_flows (self);
    } else if (answer->result == STORE_ERROR) {
        log_event (LEVEL_ERROR, "flow.not_loaded", "error=%s", quoted (span_text (answer->error)));
    }
    book->loading = false;
    if (book->change.call)
        task_set (&book->change, self->reactor);
    if (answer->result == STORE_LOST)
        return; // the station is stopping, or will reload the names
    void (*on_loaded) (struct station *) = book->load_again ? NULL : book->on_loaded;
    if (book->load_again)
        flow_book_reload (self);
    if (on_loaded) {
        book->on_loaded = NULL;
        on_loaded (self);
    }
}

void flow_book_reload (struct station *self)
{
    struct flow_book *book = self->flows;
    book->load_again = book->loading;
    if (book->loading)
        return;
    book->loading = true;
    store_flow_heads (self->store, FLOW_NAMES_MAX, on_flow_names, self);
    link_flush (store_link (self->store));
}

void flow_book_load (struct station *self, void (*on_loaded) (struct station *self))
{
    self->flows->on_loaded = on_loaded;
    flow_book_reload (self);
}

// -- definitions that are not in memory

// Reply to a caller, and free its entry.
static void reply_to_waiter (struct flow_wait *wait, const struct flow *flow, const char *reason)
{
    wait->reply (wait->owner, flow, wait->version, reason);
    free (wait);
}

// Answer all callers that wait for this load, and end it.
static void end_load (struct flow_load *load, const struct flow *flow, const char *reason)
{
    struct station *self = load->station;
    struct flow_load **at = &self->flows->loads;
    while (*at != load)
        at = &(*at)->next;
    *at = load->next;
    if (flow)
        flow_book_hold (self, flow);
    for (struct flow_wait *wait; (wait = load->first);) {
        load->first = wait->next;
        reply_to_waiter (wait, flow, reason);
    }
    if (flow)
        flow_book_release (self, flow);
    free (load);
}

// Set the reason that a version cannot be read, from the first of the errors.
static void set_unreadable (struct reason *reason, const struct flow_load *load,
                            const json_t *errors)
{
    const json_t *error = json_array_get (errors, 0);
    const char *path = json_string_value (json_object_get (error, "path")),
               *why = json_string_value (json_object_get (error, "reason"));
    reason_set (reason, "flow %s: version %d cannot be read: %s%s%s", load->name, load->version,
                path ? path : "", path && *path ? ": " : "", why ? why : "the station stops");
}

// A definition is parsed: put it into the cache, and reply to the callers.
static void on_parsed (void *owner, struct flow *flow, json_t *errors)
{
    struct flow_load *load = owner;
    struct station *self = load->station;
    struct reason reason = {""};
    const struct flow *cached = NULL;
    if (flow && strcmp (flow->name, load->name) != 0) {
        reason_set (&reason, "flow %s: version %d is of flow %s", load->name, load->version,
                    flow->name);
        flow_destroy (&flow);
    } else if (!flow) {
        set_unreadable (&reason, load, errors);
    }
    struct flow_entry *entry = find_entry (self, span_text (load->name));
    if (flow && entry && entry->use == load->version && !entry->facts) {
        flow_entry_set_facts (entry, flow_facts_of (flow));
        flow_names_recompute (&self->flows->names);
    }
    if (flow)
        cached =
            flow_cache_put (&self->flows->cache, load->name, load->version, flow, load->text_size);
    if (!cached && self->flows->parser)
        log_event (LEVEL_ERROR, "flow.unreadable", "flow=%s version=%d reason=\"%s\"", load->name,
                   load->version, reason.text);
    json_decref (errors);
    end_load (load, cached, reason.text);
    station_resume (self);
}

// The stored text of a definition has arrived: parse it.
static void on_definition_text (void *owner, const struct store_flow *answer)
{
    struct flow_load *load = owner;
    struct station *self = load->station;
    struct reason reason = {""};
    struct flow_known known;
    bool has_text = answer->result == STORE_DONE && answer->text.size && self->flows->parser;
    if (answer->result == STORE_NONE)
        reason_set (&reason, "flow %s: not found", load->name);
    else if (answer->result == STORE_DONE)
        reason_set (&reason, "flow %s: there is no version %d", load->name, load->version);
    else
        reason_set (&reason, "flow %s: Redis: %s", load->name,
                    answer->error && *answer->error ? answer->error : "was lost");
    if (!has_text) {
        end_load (load, NULL, reason.text);
        station_resume (self);
        return;
    }
    flow_book_copy_names (self, &known);
    known.any_target = known.was_accepted = true;
    load->text_size = answer->text.size;
    flow_parser_ask (self->flows->parser, answer->text, &known, FLOW_PARSE_FIRST, on_parsed, load);
}

// Let a caller wait for a definition; the first one starts the read.
static void load_definition (struct station *self, struct flow_wait *wait)
{
    struct flow_load *load = self->flows->loads;
    while (load && (strcmp (load->name, wait->name) != 0 || load->version != wait->version))
        load = load->next;
    bool is_new = !load;
    if (is_new) {
        load = memory_new (sizeof *load);
        *load = (struct flow_load){
            .next = self->flows->loads, .station = self, .version = wait->version};
        load->last = &load->first;
        memcpy (load->name, wait->name, sizeof load->name);
        self->flows->loads = load;
    }
    *load->last = wait;
    load->last = &wait->next;
    if (is_new)
        store_flow_read (self->store, load->name, load->version, LINK_REPEAT, on_definition_text,
                         load);
}

// -- callers

// Answer the callers whose definition is in memory or does not exist.
static void reply_to_ready_waiters (void *owner)
{
    struct station *self = owner;
    struct flow_book *book = self->flows;
    struct flow_wait *wait = book->ready;
    book->ready = NULL;
    book->last_ready = &book->ready;
    while (wait) {
        struct flow_wait *next = wait->next;
        struct reason reason;
        struct span name = span_text (wait->name);
        const struct flow *flow = flow_cache_find (&book->cache, name, wait->version);
        wait->next = NULL;
        reason_set (&reason,
                    find_entry (self, name) ? "flow %s: no version is in use"
                                            : "flow %s: not found",
                    wait->name);
        if (flow)
            flow_book_hold (self, flow);
        if (flow || !wait->version || !book->parser)
            reply_to_waiter (wait, flow, reason.text);
        else
            load_definition (self, wait); // the definition was evicted meanwhile
        if (flow)
            flow_book_release (self, flow);
        wait = next;
    }
    station_resume (self);
    link_flush (store_link (self->store));
}

void flow_book_get (struct station *self, const char *name, int version, flow_book_fn *reply,
                    void *owner)
{
    struct flow_book *book = self->flows;
    struct flow_wait *wait = memory_new (sizeof *wait);
    *wait = (struct flow_wait){.version = version, .reply = reply, .owner = owner};
    snprintf (wait->name, sizeof wait->name, "%s", name);
    if (!wait->version)
        wait->version = flow_book_version (self, span_text (name));
    if (wait->version && book->parser &&
        !flow_cache_find (&book->cache, span_text (name), wait->version)) {
        load_definition (self, wait);
        return;
    }
    *book->last_ready = wait;
    book->last_ready = &wait->next;
    task_set (&book->answer, self->reactor);
}

const struct flow *flow_book_find (struct station *self, struct span name, int version)
{
    int wanted = version ? version : flow_book_version (self, name);
    return wanted ? flow_cache_find (&self->flows->cache, name, wanted) : NULL;
}

const struct flow *flow_book_hold (struct station *self, const struct flow *flow)
{
    flow_cache_hold (&self->flows->cache, flow);
    return flow;
}

void flow_book_release (struct station *self, const struct flow *flow)
{
    flow_cache_release (&self->flows->cache, flow);
}

// -- changes

void flow_book_put (struct station *self, struct flow_entry *entry, struct flow *flow, int version,
                    size_t text_size)
{
    struct flow_book *book = self->flows;
    struct flow_entry *place = flow_names_add (&book->names, span_text (entry->name));
    place->use = entry->use;
    place->last = entry->last;
    place->updated = entry->updated;
    flow_entry_set_facts (place, entry->facts);
    entry->facts = NULL;
    flow_names_recompute (&book->names);
    if (flow)
        flow_cache_put (&book->cache, place->name, version, flow, text_size);
}

void flow_book_remove (struct station *self, const char *name)
{
    flow_names_remove (&self->flows->names, span_text (name));
    flow_names_recompute (&self->flows->names);
    flow_cache_forget (&self->flows->cache, span_text (name), 0);
}

// -- life

static void on_dropped_flow (void *owner, struct flow *flow)
{
    struct station *self = owner;
    flow_parser_reap (self->flows->parser, flow);
}

void flow_book_start (struct station *self)
{
    struct flow_book *book = self->flows = memory_new (sizeof *book);
    book->station = self;
    book->cache = (struct flow_cache){.max = CACHE_MAX, .on_drop = on_dropped_flow, .owner = self};
    book->parser = flow_parser_new (self->reactor);
    book->last_ready = &book->ready;
    book->last = &book->first;
    book->answer = (struct task){.call = reply_to_ready_waiters, .owner = self};
}

void flow_book_quit (struct station *self)
{
    struct flow_book *book = self->flows;
    if (!book)
        return;
    task_end (&book->answer);
    struct flow_parser *parser = book->parser;
    book->parser = NULL; // no callback may start a new parse
    flow_parser_destroy (&parser);
    for (struct flow_wait *wait; (wait = book->ready);) {
        book->ready = wait->next;
        reply_to_waiter (wait, NULL, "the station stops");
    }
    book->last_ready = &book->ready;
}

void flow_book_stop (struct station *self)
{
    if (!self->flows)
        return;
    task_end (&self->flows->answer);
    task_end (&self->flows->change);
    flow_cache_clear (&self->flows->cache);
    flow_names_clear (&self->flows->names);
    free (self->flows);
    self->flows = NULL;
}
