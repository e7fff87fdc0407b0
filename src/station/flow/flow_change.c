#include "flow_change.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "codes.h"
#include "flow_change_check.h"
#include "flow_uses.h"
#include "json.h"
#include "log.h"
#include "memory.h"
#include "permit.h"
#include "reply.h"
#include "store_flow.h"

struct flow_change {
    struct flow_change *next;
    struct station *station;
    struct peer *peer;
    enum flow_change_kind kind;
    char name[FLOW_NAME_MAX + 1];
    int version; // that of the command, later the one that is put or used
    char *text;
    size_t size;
    struct flow *flow;
    bool resolved;           // `text` contains the kinds that it names
    struct flow_entry entry; // the entry that the flow gets
    json_t *check;
    bool unchanged;
    int dropped[2 * STORE_FLOW_VERSIONS];
    size_t dropped_count, excess_versions;
};

static const struct flow_entry *current_entry (const struct flow_change *self)
{
    return flow_names_find (&self->station->flows->names, span_text (self->name));
}

// -- the end of a change: reply to the peer

static void end_change (struct flow_change *self)
{
    struct station *station = self->station;
    struct flow_book *book = station->flows;
    book->first = self->next;
    if (!book->first)
        book->last = &book->first;
    book->claimed[0] = book->removing[0] = '\0';
    book->changing = false;
    flow_facts_release (&self->entry.facts);
    json_decref (self->check);
    if (self->flow)
        flow_parser_reap (book->parser, self->flow);
    free (self->text);
    free (self);
    if (book->first && book->parser)
        task_set (&book->change, station->reactor);
    station_resume (station);
}

__attribute__ ((format (printf, 3, 4))) static void reject_change (struct flow_change *self,
                                                                   enum wire_error error,
                                                                   const char *format, ...)
{
    va_list arguments;
    va_start (arguments, format);
    reply_refuse_arguments (self->station, self->peer, error, format, arguments);
    va_end (arguments);
    end_change (self);
}

// Reject with an error of Redis. After a write of unknown outcome, reload the names.
static void reject_store (struct flow_change *self, enum store_result result, const char *error)
{
    struct station *station = self->station;
    bool unknown = result == STORE_UNKNOWN || result == STORE_RESET;
    reply_refuse_store (station, self->peer, result, error);
    if (unknown && station->flows->parser)
        flow_book_reload (station);
    end_change (self);
}

// Reply with an object, which is taken over, and end the change.
static void reply_with_json (struct flow_change *self, uint8_t status, const char *reason,
                             json_t *object)
{
    char *json = json_write (object);
    reply_send (self->station, self->peer,
                &(struct reply){.status = status, .reason = reason, .json = json});
    free (json);
    json_decref (object);
    end_change (self);
}

// Reject the change with all errors and their paths; takes over `errors`.
static void reject_with_errors (struct flow_change *self, json_t *errors, enum wire_error class)
{
    struct reason reason;
    flow_errors_summarize (errors, &reason);
    self->station->counters.refused++;
    self->station->counters.denied += class == ZPLAN_EDENY;
    reply_with_json (self, status_of_error (class), reason.text,
                     json_pack ("{s:o}", "errors", errors));
}

static void reply_with_version (struct flow_change *self)
{
    reply_with_json (self, ZERO_STATUS_OK_ID, "",
                     json_pack ("{s:s, s:i, s:i, s:b, s:O}", "name", self->name, "version",
                                self->version, "use", self->entry.use, "unchanged", self->unchanged,
                                "check", self->check));
}

// -- checks against the station, and the rights of the key

// Check the definition against the station and the key's rights. False: rejected, and freed.
static bool check_change (struct flow_change *self)
{
    struct station *station = self->station;
    struct reason reason;
    const struct flow_entry *entry = current_entry (self);
    bool pinned = entry && entry->use && entry->use < entry->last;
    json_t *errors = json_array ();
    bool allowed = flow_check_targets (station, self->peer->user, self->flow, errors);
    self->entry.facts = flow_facts_of (self->flow);
    if (station_target (station, span_text (self->name)))
        flow_errors_add (errors, "flow", "a target has this name");
    if ((self->kind == FLOW_CHANGE_USE || !pinned) &&
        !flow_names_check_limits (&station->flows->names, self->name, self->entry.facts, &reason))
        flow_errors_add (errors, "steps", reason.text);
    if (json_array_size (errors) > 0) {
        reject_with_errors (self, errors, allowed ? ZPLAN_EARGUMENT : ZPLAN_EDENY);
        return false;
    }
    json_decref (errors);
    if (self->kind == FLOW_CHANGE_USE || entry || station->flows->names.count < FLOW_NAMES_MAX)
        return true;
    reject_change (self, ZPLAN_EBUSY, "flow: quota exceeded: %d flows", FLOW_NAMES_MAX);
    return false;
}

// -- written

static void on_written (void *owner, enum store_result result, const char *error)
{
    struct flow_change *self = owner;
    struct station *station = self->station;
    if (result != STORE_DONE && result != STORE_UNSURE) {
        reject_store (self, result, error);
        return;
    }
    if (self->kind == FLOW_CHANGE_REMOVE) {
        flow_book_remove (station, self->name);
        log_event (LEVEL_INFO, "flow.removed", "flow=%s", self->name);
    } else {
        log_event (LEVEL_INFO, self->kind == FLOW_CHANGE_PUT ? "flow.put" : "flow.use",
                   "flow=%s version=%d use=%d by=%s", self->name, self->version, self->entry.use,
                   quoted (permit_name (station, self->peer->user)));
        flow_book_put (station, &self->entry, self->flow, self->version, self->size);
        self->flow = NULL;
    }
    for (size_t i = 0; i < self->dropped_count; i++)
        flow_cache_forget (&station->flows->cache, span_text (self->name), self->dropped[i]);
    if (result == STORE_UNSURE) {
        reject_store (self, result, error);
    } else if (self->kind == FLOW_CHANGE_REMOVE) {
        reply_send (station, self->peer,
                    &(struct reply){.status = ZERO_STATUS_OK_ID, .reason = ""});
        end_change (self);
    } else {
        reply_with_version (self);
    }
}

static void write_change (struct flow_change *self)
{
    bool put = self->kind == FLOW_CHANGE_PUT;
    const struct flow_entry *entry = current_entry (self);
    // A pinned flow keeps its version in use, and the facts about that version.
    if (put && self->entry.use != self->version) {
        struct flow_facts *facts = entry ? entry->facts : NULL;
        if (facts)
            facts->holders++;
        flow_entry_set_facts (&self->entry, facts);
    }
    char *info = self->entry.facts ? flow_facts_text (self->entry.facts) : NULL;
    store_flow_put (self->station->store,
                    &(struct store_flow_change){.name = self->name,
                                                .version = put ? self->version : 0,
                                                .text = span_of (self->text, self->size),
                                                .dropped = self->dropped,
                                                .dropped_count = self->dropped_count,
                                                .use = self->entry.use,
                                                .last = self->entry.last,
                                                .updated = self->entry.updated,
                                                .info = info ? info : ""},
                    on_written, self);
    free (info);
    link_flush (store_link (self->station->store));
}

// -- put

// If there are too many versions, choose those to drop: never the last one or the one in use.
static void choose_droppable (struct flow_change *self, const struct store_flow *answer)
{
    size_t left = answer->version_count + 1;
    self->excess_versions = left > STORE_FLOW_VERSIONS ? left - STORE_FLOW_VERSIONS : 0;
    for (size_t i = 0; i < answer->version_count && self->excess_versions; i++) {
        int version = answer->versions[i];
        if (version != answer->use && version != answer->last)
            self->dropped[self->dropped_count++] = version;
    }
}

// Keep the versions that a run uses, in memory or in Redis, and drop the other chosen ones.
static void on_uses (void *owner, const struct flow_uses *uses)
{
    struct flow_change *self = owner;
    if (!uses) {
        reject_store (self, STORE_LOST, "");
        return;
    }
    self->dropped_count =
        flow_uses_filter_unused (uses, self->dropped, self->dropped_count, self->excess_versions);
    write_change (self);
}

// Choose the number of the new version, and write it, unless nothing changes.
static void choose_new_version (struct flow_change *self, const struct store_flow *answer)
{
    const struct flow_entry *entry = current_entry (self);
    int last = entry && entry->last > answer->last ? entry->last : answer->last;
    if (answer->version_count && answer->versions[answer->version_count - 1] > last)
        last = answer->versions[answer->version_count - 1];
    bool pinned = entry && entry->use && entry->use < entry->last;
    bool has_text = answer->text.size && entry && entry->use;
    if (self->version != FLOW_VERSION_ANY && self->version != last) {
        reject_change (self, ZPLAN_EARGUMENT, "version: the last version of %s is %d, not %d",
                       self->name, last, self->version);
        return;
    }
    if (last == INT32_MAX) {
        reject_change (self, ZPLAN_EBUSY, "flow: there are no more numbers of versions");
        return;
    }
    self->unchanged = has_text && flow_text_equal (answer->text, span_of (self->text, self->size));
    self->version = self->unchanged ? last : last + 1;
    self->entry.last = self->version;
    self->entry.use = pinned ? entry->use : self->version;
    if (self->unchanged || self->kind == FLOW_CHANGE_CHECK) {
        reply_with_version (self);
        return;
    }
    choose_droppable (self, answer);
    if (self->dropped_count)
        flow_uses_read (self->station, self->name, self->dropped, self->dropped_count, on_uses,
                        self);
    else
        write_change (self);
}

static void on_last (void *owner, const struct store_flow *answer)
{
    struct flow_change *self = owner;
    static const struct store_flow none = {.result = STORE_DONE};
    if (answer->result == STORE_DONE || answer->result == STORE_NONE)
        choose_new_version (self, answer->result == STORE_NONE ? &none : answer);
    else
        reject_store (self, answer->result, answer->error);
}

static void check_and_continue (struct flow_change *self)
{
    struct station *station = self->station;
    if (self->kind == FLOW_CHANGE_PUT)
        memcpy (station->flows->claimed, self->name, sizeof self->name);
    if (!check_change (self))
        return;
    self->check = flow_report_json (self->flow);
    self->entry.updated = station_now (station);
    if (self->kind == FLOW_CHANGE_USE)
        write_change (self);
    else
        store_flow_read (station->store, self->name, STORE_FLOW_LAST, LINK_ONCE, on_last, self);
    link_flush (store_link (station->store));
}

static void parse_change (struct flow_change *self);

static void on_resolved (void *owner, const struct flow_resolved *answer)
{
    struct flow_change *self = owner;
    struct flow_parser *parser = self->station->flows->parser;
    self->resolved = true;
    if (answer->text) {
        free (self->text);
        self->text = answer->text;
        self->size = strlen (self->text);
    }
    if (answer->errors) {
        reject_with_errors (self, answer->errors, ZPLAN_EARGUMENT);
    } else if (answer->result != STORE_DONE || !parser) {
        reject_store (self, answer->result == STORE_DONE ? STORE_LOST : answer->result,
                      answer->error);
    } else if (answer->text) {
        flow_parser_reap (parser, self->flow);
        self->flow = NULL;
        parse_change (self);
    } else {
        check_and_continue (self);
    }
}

static void on_parsed (void *owner, struct flow *flow, json_t *errors)
{
    struct flow_change *self = owner;
    struct reason reason;
    self->flow = flow;
    if (errors) {
        reject_with_errors (self, errors, ZPLAN_EARGUMENT);
        return;
    }
    if (!flow) {
        reject_store (self, STORE_LOST, "");
        return;
    }
    if (self->kind == FLOW_CHANGE_USE && strcmp (flow->name, self->name) != 0) {
        reject_change (self, ZPLAN_EARGUMENT, "flow: version %d of %s is of flow %s", self->version,
                       self->name, flow->name);
        return;
    }
    memcpy (self->name, flow->name, strlen (flow->name) + 1);
    memcpy (self->entry.name, self->name, sizeof self->name);
    if (permit_named (self->station, self->peer->user, "flow", span_text (self->name), &reason))
        reject_change (self, ZPLAN_EDENY, "%s", reason.text);
    else if (self->kind == FLOW_CHANGE_USE || self->resolved)
        check_and_continue (self);
    else
        flow_resolve_kinds (self->station, flow, on_resolved, self);
}

static void parse_change (struct flow_change *self)
{
    struct flow_known known;
    flow_book_copy_names (self->station, &known);
    // A key with limited rights must not learn which targets exist: flow_check_targets reports.
    known.any_target = !permits_all_stations (self->station, self->peer->user);
    flow_parser_ask (self->station->flows->parser, span_of (self->text, self->size), &known,
                     FLOW_PARSE_LAST, on_parsed, self);
}

// -- use

static void on_version (void *owner, const struct store_flow *answer)
{
    struct flow_change *self = owner;
    if (answer->result != STORE_DONE && answer->result != STORE_NONE) {
        reject_store (self, answer->result, answer->error);
    } else if (answer->result == STORE_NONE || !answer->text.size) {
        reject_change (self, ZPLAN_ENOTFIND, "flow: %s has no version %d", self->name,
                       self->version);
    } else {
        int last = answer->last > self->version ? answer->last : self->version;
        const struct flow_entry *entry = current_entry (self);
        self->entry.last = entry && entry->last > last ? entry->last : last;
        self->entry.use = self->version;
        self->unchanged = answer->use == self->version;
        self->size = answer->text.size;
        self->text = memory_copy (answer->text.data, self->size);
        parse_change (self);
    }
}

// -- remove

static void on_plan_count (void *owner, const struct store_flow *answer)
{
    struct flow_change *self = owner;
    if (answer->result != STORE_DONE && answer->result != STORE_NONE) {
        reject_store (self, answer->result, answer->error);
    } else if (answer->plans > 0) {
        reject_change (self, ZPLAN_EBUSY, "flow: %s has %" PRId64 " plan%s; remove them first",
                       self->name, answer->plans, answer->plans == 1 ? "" : "s");
    } else {
        store_flow_remove (self->station->store, self->name, on_written, self);
        link_flush (store_link (self->station->store));
    }
}

// Continue a removal: no new plan of the flow is accepted, and accepted ones are in Redis.
static void on_plans_written (void *owner, enum store_result result, const char *error)
{
    struct flow_change *self = owner;
    if (result != STORE_DONE && result != STORE_UNSURE) {
        reject_store (self, result, error);
        return;
    }
    store_flow_read (self->station->store, self->name, STORE_FLOW_IN_USE, LINK_ONCE, on_plan_count,
                     self);
    link_flush (store_link (self->station->store));
}

static void begin_removal (struct flow_change *self)
{
    struct station *station = self->station;
    const struct flow_entry *caller =
        flow_names_caller (&station->flows->names, span_text (self->name));
    if (caller) {
        reject_change (self, ZPLAN_EBUSY, "flow: %s is called by flow %s", self->name,
                       caller->name);
        return;
    }
    memcpy (station->flows->removing, self->name, sizeof self->name);
    store_flow_settle (station->store, on_plans_written, self);
    link_flush (store_link (station->store));
}

// -- the queue of changes

// Whether the command names the flow; else it has a definition.
static bool names_flow (enum flow_change_kind kind)
{
    return kind == FLOW_CHANGE_USE || kind == FLOW_CHANGE_REMOVE;
}

static void begin_change (struct flow_change *self)
{
    struct station *station = self->station;
    if (!station_store_up (station)) {
        reject_store (self, STORE_LOST, "");
    } else if (names_flow (self->kind) && !current_entry (self)) {
        reject_change (self, ZPLAN_ENOTFIND, "flow: no flow %s is known",
                       quoted (span_text (self->name)));
    } else if (self->kind == FLOW_CHANGE_REMOVE) {
        begin_removal (self);
    } else if (self->kind == FLOW_CHANGE_USE) {
        store_flow_read (station->store, self->name, self->version, LINK_ONCE, on_version, self);
        link_flush (store_link (station->store));
    } else {
        parse_change (self);
    }
}

static void begin_first_change (void *owner)
{
    struct station *self = owner;
    struct flow_book *book = self->flows;
    if (book->first && book->parser && !book->loading && !book->changing) {
        book->changing = true;
        begin_change (book->first);
    }
}

void flow_change_start (struct station *self)
{
    self->flows->change = (struct task){.call = begin_first_change, .owner = self};
}

void flow_change_ask (struct station *self, struct request *request, enum flow_change_kind kind,
                      struct span subject, int version)
{
    struct flow_book *book = self->flows;
    struct flow_change *change = memory_new (sizeof *change);
    change->station = self;
    change->peer = peer_keep (self, request);
    change->kind = kind;
    change->version = version;
    if (names_flow (kind)) { // the caller has checked the size of the name
        memcpy (change->name, subject.data, subject.size);
        memcpy (change->entry.name, change->name, sizeof change->name);
    } else {
        change->size = subject.size;
        change->text = memory_copy (subject.data, subject.size);
    }
    *book->last = change;
    book->last = &change->next;
    task_set (&book->change, self->reactor);
}

void flow_change_quit (struct station *self)
{
    struct flow_book *book = self->flows;
    if (!book)
        return;
    task_end (&book->change);
    struct flow_change *in_progress = book->changing ? book->first : NULL, *next;
    for (struct flow_change *pending_change = in_progress ? in_progress->next : book->first;
         pending_change; pending_change = next) {
        next = pending_change->next;
        reply_refuse_store (self, pending_change->peer, STORE_LOST, "");
        free (pending_change->text);
        free (pending_change);
    }
    book->first = in_progress;
    book->last = in_progress ? &in_progress->next : &book->first;
    *book->last = NULL;
}
