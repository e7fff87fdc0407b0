// flow: definitions of flows, by name and version. proto/flows.md 18.17.
#include <inttypes.h>
#include <stdlib.h>

#include "arguments.h"
#include "codes.h"
#include "flow_change.h"
#include "manage_flow.h"
#include "memory.h"
#include "permit.h"
#include "reads.h"
#include "store_flow.h"

enum { PAGE_MAX = 1000 };

static void refuse_argument (struct station *self, struct request *request, const char *reason)
{
    reply_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason);
}

// Check the name of a flow. False: it is invalid or the key may not use the flow, and the request
// was rejected.
static bool read_name (struct station *self, struct request *request, struct span name)
{
    struct reason reason;
    int rc = name.size <= FLOW_NAME_MAX && station_name_valid (name)
                 ? permit_named (self, request->peer.user, "flow", name, &reason)
                 : reason_error (&reason, ZPLAN_EARGUMENT,
                                 "flow: want a name of 1..64 of A-Z a-z 0-9 _ . -, got %s",
                                 quoted (name));
    if (rc)
        reply_refuse (self, &request->peer, (enum wire_error)rc, reason.text);
    return !rc;
}

static bool read_version (struct station *self, struct request *request, struct span text,
                          int64_t min, int *ret)
{
    struct reason reason;
    int64_t number;
    if (argument_number (text, min, INT32_MAX, &number)) {
        *ret = (int)number;
        return true;
    }
    reason_set (&reason, "version: want %" PRId64 "..%d, got %s", min, INT32_MAX, quoted (text));
    refuse_argument (self, request, reason.text);
    return false;
}

// -- changes

static void flow_change (struct station *self, struct request *request,
                         const struct flow_arguments *args)
{
    int version = FLOW_VERSION_ANY;
    bool named = args->change == FLOW_CHANGE_USE || args->change == FLOW_CHANGE_REMOVE;
    if (named && !read_name (self, request, args->at[0]))
        return;
    if (args->count < 2 || read_version (self, request, args->at[1], named ? 1 : 0, &version))
        flow_change_ask (self, request, args->change, args->at[0], version);
}

// -- get

struct definition_query {
    struct station *station;
    struct peer *peer;
    char name[FLOW_NAME_MAX + 1];
    int version;
    struct store_flow answer; // copied while its text is checked
    char *text;
};

// The name of a flow needs no escapes, and the text of the definition was checked.
static void reply_text (const struct definition_query *self, const struct store_flow *answer)
{
    char *text;
    size_t size;
    FILE *out = open_memstream (&text, &size);
    fprintf (out,
             "{\"name\":\"%s\",\"version\":%d,\"use\":%d,\"last\":%d,\"updated\":%" PRId64
             ",\"versions\":[",
             self->name, answer->version, answer->use, answer->last, answer->updated);
    for (size_t i = 0; i < answer->version_count; i++)
        fprintf (out, "%s%d", i ? "," : "", answer->versions[i]);
    fprintf (out, "],\"definition\":");
    fwrite (answer->text.data, 1, answer->text.size, out);
    fprintf (out, "}");
    fclose (out);
    manage_reply (self->station, self->peer, 0, text);
    free (text);
}

static void definition_query_end (struct definition_query *self)
{
    struct station *station = self->station;
    free (self->text);
    free (self);
    station_resume (station);
}

// Reply with the definition if it is valid JSON: one that was edited by hand might break the reply.
static void on_json (void *owner, struct flow *flow, json_t *errors)
{
    struct definition_query *self = owner;
    struct reason reason;
    (void)flow; // not requested
    const json_t *error = json_array_get (errors, 0);
    if (error) {
        reason_set (&reason, "flow: version %d of %s cannot be read: %s", self->answer.version,
                    self->name, json_string_value (json_object_get (error, "reason")));
        reply_refuse (self->station, self->peer, ZPLAN_EARGUMENT, reason.text);
    } else if (errors) {
        reply_text (self, &self->answer);
    } else {
        reply_refuse_store (self->station, self->peer, STORE_LOST, "");
    }
    json_decref (errors);
    definition_query_end (self);
}

static void check_stored_text (struct definition_query *self, const struct store_flow *answer)
{
    struct flow_known known = {.only_json = true};
    self->answer = *answer;
    self->text = memory_copy (answer->text.data, answer->text.size);
    self->answer.text = span_of (self->text, answer->text.size);
    flow_parser_ask (self->station->flows->parser, self->answer.text, &known, FLOW_PARSE_FIRST,
                     on_json, self);
}

static void on_flow (void *owner, const struct store_flow *answer)
{
    struct definition_query *self = owner;
    struct station *station = self->station;
    struct reason reason;
    if (answer->result == STORE_DONE && answer->text.size && station->flows->parser) {
        check_stored_text (self, answer);
        return;
    }
    if (!station->flows->parser) {
        reply_refuse_store (station, self->peer, STORE_LOST, "");
    } else if (answer->result == STORE_NONE) {
        reason_set (&reason, "flow: no flow %s is known", quoted (span_text (self->name)));
        reply_refuse (station, self->peer, ZPLAN_ENOTFIND, reason.text);
    } else if (answer->result != STORE_DONE) {
        reply_refuse_store (station, self->peer, answer->result, answer->error);
    } else {
        reason_set (&reason, "flow: %s has no version %d", self->name, answer->version);
        reply_refuse (station, self->peer, ZPLAN_ENOTFIND, reason.text);
    }
    definition_query_end (self);
}

static void ask_definition (void *owner)
{
    struct definition_query *self = owner;
    store_flow_read (self->station->store, self->name, self->version, LINK_ONCE, on_flow, self);
}

static void flow_get (struct station *self, struct request *request,
                      const struct flow_arguments *args)
{
    int version = STORE_FLOW_IN_USE;
    if (!read_name (self, request, args->at[0]) ||
        (args->count > 1 && !read_version (self, request, args->at[1], 1, &version)))
        return;
    struct definition_query *definition_query = memory_new (sizeof *definition_query);
    definition_query->station = self;
    definition_query->peer = peer_keep (self, request);
    definition_query->version = version;
    memcpy (definition_query->name, args->at[0].data, args->at[0].size);
    reads_start (self, definition_query->peer, ask_definition, definition_query);
}

// -- list

struct flow_filter {
    char after[FLOW_NAME_MAX + 1];
    char name[FLOW_NAME_MAX + 2]; // a trailing * makes it a prefix
    int64_t limit;
};

static const struct json_field filter_fields[] = {
    {"after", AS_TEXT, offsetof (struct flow_filter, after), 0, FLOW_NAME_MAX,
     "want the name of a flow"},
    {"name", AS_TEXT, offsetof (struct flow_filter, name), 1, FLOW_NAME_MAX + 1,
     "want a name, which may end in *"},
    {"limit", AS_NUMBER, offsetof (struct flow_filter, limit), 1, PAGE_MAX},
};

static bool name_matches (const struct flow_filter *filter, const char *name)
{
    size_t size = strlen (filter->name);
    if (size && filter->name[size - 1] == '*')
        return strncmp (filter->name, name, size - 1) == 0;
    return !size || strcmp (filter->name, name) == 0;
}

static json_t *entry_json (const struct flow_entry *entry)
{
    json_t *object = json_pack ("{s:s, s:i, s:i, s:I}", "name", entry->name, "use", entry->use,
                                "last", entry->last, "updated", (json_int_t)entry->updated);
    if (!entry->facts)
        return object;
    const struct flow_report *report = &entry->facts->report;
    json_object_update_new (
        object,
        json_pack ("{s:I, s:I, s:i, s:b, s:o*}", "steps", (json_int_t)entry->facts->steps,
                   "steps_max", (json_int_t)report->steps_max, "depth", (int)report->depth,
                   "bounded", report->bounded, "seconds_max",
                   report->bounded ? json_integer ((json_int_t)report->seconds_max) : NULL));
    return object;
}

static void flow_list (struct station *self, struct request *request,
                       const struct flow_arguments *args)
{
    const struct flow_names *names = &self->flows->names;
    struct flow_filter filter = {.limit = PAGE_MAX};
    struct reason reason;
    if (args->count &&
        !json_fields_parse (args->at[0], filter_fields,
                            sizeof filter_fields / sizeof *filter_fields, &filter, &reason)) {
        refuse_argument (self, request, reason.text);
        return;
    }
    json_t *flows = json_array ();
    size_t at = flow_names_after (names, span_text (filter.after));
    for (; at < names->count && (int64_t)json_array_size (flows) < filter.limit; at++) {
        const struct flow_entry *entry = &names->entries[at];
        if (name_matches (&filter, entry->name) &&
            permits_station (self, request->peer.user, span_text (entry->name)))
            json_array_append_new (flows, entry_json (entry));
    }
    const char *next = at < names->count ? names->entries[at - 1].name : NULL;
    manage_reply_json (self, &request->peer, 0,
                       json_pack ("{s:o, s:s*}", "flows", flows, "next", next));
}

// -- the subcommands

static const struct flow_subcommand {
    const char *name;
    size_t args_min, args_max; // arguments after the subcommand
    bool takes_definition;     // as its first argument, or in a JSON frame
    unsigned roles;
    flow_subcommand_fn *run;
    enum flow_event_kind event;   // applied by a subcommand that changes a run
    enum flow_change_kind change; // of the definition, if the subcommand changes one
} subcommands[] = {
    {"list", 0, 1, false, CURVE_ROLE_OBSERVE, flow_list},
    {"get", 1, 2, false, CURVE_ROLE_OBSERVE, flow_get},
    {"check", 1, 1, true, CURVE_ROLE_SUBMIT | CURVE_ROLE_OBSERVE, flow_change,
     .change = FLOW_CHANGE_CHECK},
    {"put", 1, 2, true, CURVE_ROLE_MANAGE, flow_change, .change = FLOW_CHANGE_PUT},
    {"use", 2, 2, false, CURVE_ROLE_MANAGE, flow_change, .change = FLOW_CHANGE_USE},
    {"remove", 1, 1, false, CURVE_ROLE_MANAGE, flow_change, .change = FLOW_CHANGE_REMOVE},
    {"runs", 0, 1, false, CURVE_ROLE_OBSERVE, manage_flow_show_runs},
    {"show", 1, 2, false, CURVE_ROLE_OBSERVE, manage_flow_show_run},
    {"log", 1, 1, false, CURVE_ROLE_OBSERVE, manage_flow_show_log},
    {"signal", 2, 3, false, CURVE_ROLE_SIGNAL, manage_flow_change_run, FLOW_SIGNALLED},
    {"reject", 2, 3, false, CURVE_ROLE_SIGNAL, manage_flow_change_run, FLOW_REJECTED},
    {"skip", 2, 3, false, CURVE_ROLE_MANAGE, manage_flow_change_run, FLOW_SKIP},
    {"retry", 1, 2, false, CURVE_ROLE_MANAGE, manage_flow_change_run, FLOW_RETRY},
    {"suspend", 1, 2, false, CURVE_ROLE_MANAGE, manage_flow_change_run, FLOW_SUSPEND},
    {"resume", 1, 2, false, CURVE_ROLE_MANAGE, manage_flow_change_run, FLOW_RESUME},
    {"cancel", 1, 3, false, CURVE_ROLE_MANAGE, manage_flow_change_run, FLOW_CANCEL},
};

static void collect_arguments (const struct request *request, bool takes_definition,
                               struct flow_arguments *ret)
{
    bool framed = false;
    struct span frame = message_frame (&request->message, ZERO_FRAME_JSON, &framed);
    *ret = (struct flow_arguments){0};
    if (takes_definition && framed)
        ret->at[ret->count++] = frame;
    for (size_t i = 1; i < request->arg_count && ret->count < 3; i++)
        ret->at[ret->count++] = request->args[i];
}

int manage_flow (struct station *self, struct request *request)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) {
        struct flow_arguments given;
        collect_arguments (request, subcommands[i].takes_definition, &given);
        given.event = subcommands[i].event;
        given.change = subcommands[i].change;
        if (!span_is (request->args[0], subcommands[i].name) ||
            given.count < subcommands[i].args_min || given.count > subcommands[i].args_max)
            continue;
        int rc = permit_roles (self, request->peer.user, subcommands[i].roles, &request->reason);
        if (!rc)
            subcommands[i].run (self, request, &given);
        return rc;
    }
    refuse_argument (
        self, request,
        "flow: want list [FILTER], get NAME [VERSION], check DEFINITION, put DEFINITION "
        "[LAST VERSION], use NAME VERSION, remove NAME, runs [FILTER], show RUN [FILTER], log RUN, "
        "signal RUN STEP [JSON], reject RUN STEP [REASON], skip RUN STEP [OPTIONS], retry RUN "
        "[OPTIONS], suspend RUN [REASON], resume RUN, or cancel RUN [REASON] [force]");
    return 0;
}
