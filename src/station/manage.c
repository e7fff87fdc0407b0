#include "manage.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "codes.h"
#include "memory.h"
#include "plan_json.h"

enum {
    ARGS_MAX = 8,
    PAGE_DEFAULT = 100,
    PAGE_MAX = 1000,      // plans
    PAGE_BYTES = 4 << 20, // of stored messages looked at for one page
    PATTERN_MAX = 256
};

struct arguments {
    size_t count;
    struct span at[ARGS_MAX];
};

// -- one plan

// A plan as a request names it: by its hex id, or by its message key, which names the station too.
struct plan_name {
    uint64_t id;
    char station[STATION_NAME_MAX + 1]; // empty: any
};

static bool parse_name (struct span text, struct plan_name *ret)
{
    *ret = (struct plan_name){0};
    if (ident_parse (text, &ret->id))
        return true;
    struct span station;
    if (!message_key_parse (text, &station, &ret->id))
        return false;
    memcpy (ret->station, station.data, station.size);
    return true;
}

// A question to the store about one plan, under way.
struct inquiry {
    struct station *station;
    struct peer *peer;
    struct plan_name plan;
};

// The inquiry, or NULL when the request names no plan and was refused.
static struct inquiry *inquiry_new (struct station *self, struct request *request, struct span text)
{
    struct plan_name plan;
    struct reason reason;
    if (!parse_name (text, &plan)) {
        reason_set (&reason, "id: want 1..16 hex digits or plan:msg:STATION:ID, got %s",
                    quoted (text));
        front_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return NULL;
    }
    struct inquiry *inquiry = memory_new (sizeof *inquiry);
    *inquiry = (struct inquiry){self, peer_keep (&request->peer), plan};
    return inquiry;
}

// Refuse what did not end with STORE_DONE, and release the inquiry.
static void inquiry_end (struct inquiry *inquiry, enum store_result result, const char *error)
{
    char id[IDENT_SIZE];
    struct reason reason;
    if (result == STORE_NONE) {
        reason_set (&reason, "no plan %s", ident_text (inquiry->plan.id, id));
        front_refuse (inquiry->station, inquiry->peer, ZPLAN_ENOTFIND, reason.text);
    } else if (result != STORE_DONE) {
        front_refuse_store (inquiry->station, inquiry->peer, result, error);
    }
    front_resume (inquiry->station);
    free (inquiry);
}

static void on_message_loaded (void *owner, const struct store_loaded *answer)
{
    struct inquiry *inquiry = owner;
    enum store_result result = answer->result;
    if (result == STORE_DONE && inquiry->plan.station[0] &&
        !span_is (answer->station, inquiry->plan.station))
        result = STORE_NONE;
    if (result == STORE_DONE) {
        char *json = memory_new (answer->message.size + 1);
        memcpy (json, answer->message.data, answer->message.size);
        front_reply (inquiry->station, inquiry->peer,
                     &(struct reply){.status = ZERO_STATUS_OK_ID, .reason = "", .json = json});
        free (json);
    }
    inquiry_end (inquiry, result, answer->error);
}

static void manage_message (struct station *self, struct request *request,
                            const struct arguments *arguments)
{
    struct inquiry *inquiry = inquiry_new (self, request, arguments->at[0]);
    if (inquiry)
        store_load (self->store, inquiry->plan.id, LINK_ONCE, on_message_loaded, inquiry);
}

static void on_removed (void *owner, enum store_result result, const char *error)
{
    struct inquiry *inquiry = owner;
    if (result == STORE_DONE)
        front_reply (inquiry->station, inquiry->peer,
                     &(struct reply){
                         .status = ZERO_STATUS_OK_ID, .reason = "", .plan_id = inquiry->plan.id});
    inquiry_end (inquiry, result, error);
}

static void manage_remove (struct station *self, struct request *request,
                           const struct arguments *arguments)
{
    struct inquiry *inquiry = inquiry_new (self, request, arguments->at[0]);
    if (inquiry)
        store_remove (self->store, inquiry->plan.id, inquiry->plan.station, on_removed, inquiry);
}

// -- list

struct filter {
    uint64_t after;
    int64_t limit;
    char station[STATION_NAME_MAX + 1]; // empty = any
    char title[PATTERN_MAX];            // glob; empty = any
    int state, type;                    // -1 = any
};

struct listing {
    struct station *station;
    struct peer *peer;
    struct filter filter;
};

static bool copy_text (const json_t *value, char *out, size_t room)
{
    if (!json_is_string (value) || json_string_length (value) >= room)
        return false;
    memcpy (out, json_string_value (value), json_string_length (value) + 1);
    return true;
}

static bool filter_after (struct filter *filter, const json_t *value)
{
    return json_is_string (value) &&
           ident_parse (span_text (json_string_value (value)), &filter->after);
}

static bool filter_limit (struct filter *filter, const json_t *value)
{
    filter->limit = json_integer_value (value);
    return json_is_integer (value) && filter->limit >= 1 && filter->limit <= PAGE_MAX;
}

static bool filter_station (struct filter *filter, const json_t *value)
{
    return copy_text (value, filter->station, sizeof filter->station);
}

static bool filter_title (struct filter *filter, const json_t *value)
{
    return copy_text (value, filter->title, sizeof filter->title);
}

// A name of the table behind `parse`, or its number.
static bool read_name (const json_t *value, int (*parse) (const char *name), int count, int *ret)
{
    json_int_t number = json_integer_value (value);
    if (json_is_string (value))
        number = parse (json_string_value (value));
    else if (!json_is_integer (value))
        return false;
    if (number < 0 || number >= count)
        return false;
    *ret = (int)number;
    return true;
}

static bool filter_state (struct filter *filter, const json_t *value)
{
    return read_name (value, plan_state_parse, PLAN_STATES, &filter->state);
}

static bool filter_type (struct filter *filter, const json_t *value)
{
    return read_name (value, schedule_type_parse, SCHEDULE_TYPES, &filter->type);
}

static const struct filter_field {
    const char *name;
    bool (*read) (struct filter *filter, const json_t *value);
    const char *rule;
} filter_fields[] = {
    {"after", filter_after, "want the hex id of the last plan of the page before"},
    {"limit", filter_limit, "want 1..1000"},
    {"station", filter_station, "want a station name"},
    {"title", filter_title, "want a pattern of at most 255 bytes"},
    {"state", filter_state, "want none, queue, execute, retry, skip, pause, error or close"},
    {"type", filter_type, "want none, time, second, minute, hour, day, week or month"},
};

static bool read_filter_field (struct filter *filter, const char *name, const json_t *value,
                               struct reason *reason)
{
    for (size_t i = 0; i < sizeof filter_fields / sizeof *filter_fields; i++) {
        if (strcmp (filter_fields[i].name, name) != 0)
            continue;
        if (filter_fields[i].read (filter, value))
            return true;
        reason_set (reason, "%s: %s", name, filter_fields[i].rule);
        return false;
    }
    reason_set (reason, "%s: unknown field", quoted (span_text (name)));
    return false;
}

static bool read_filter (struct span text, struct filter *ret, struct reason *reason)
{
    *ret = (struct filter){.limit = PAGE_DEFAULT, .state = -1, .type = -1};
    if (text.size == 0)
        return true;
    json_t *object = json_read_object (text, reason);
    const char *name;
    json_t *value;
    bool good = object != NULL;
    json_object_foreach (object, name, value) good =
        good && read_filter_field (ret, name, value, reason);
    json_decref (object);
    return good;
}

static bool passes (const struct filter *filter, const struct plan *plan)
{
    char title[DESCRIPTION_MAX + 1];
    size_t size =
        plan->description.size < DESCRIPTION_MAX ? plan->description.size : DESCRIPTION_MAX;
    memcpy (title, plan->description.data, size);
    title[size] = '\0';
    return (!filter->station[0] || span_is (plan->station, filter->station)) &&
           (filter->state < 0 || (int)plan->state == filter->state) &&
           (filter->type < 0 || (int)plan->schedule.type == filter->type) &&
           (!filter->title[0] || fnmatch (filter->title, title, 0) == 0);
}

// The page as JSON text. It ends early when it grows large: `next` then names the last plan in it.
static char *page_json (const struct filter *filter, const struct store_page *page)
{
    json_t *plans = json_array ();
    json_t *object = json_object ();
    uint64_t last = 0;
    size_t bytes = 0, looked_at = 0;
    for (; looked_at < page->count && bytes < PAGE_BYTES; looked_at++) {
        struct span message;
        struct reason reason;
        uint64_t id;
        if (!store_page_at (page, looked_at, &id, &message))
            continue;
        last = id;
        if (message.size == 0)
            continue;
        struct plan *plan = plan_from_stored_json (id, message, &reason);
        if (plan && passes (filter, plan)) {
            json_array_append_new (plans, plan_to_json (plan));
            // Without its messages a plan is never larger than its stored text.
            bytes += message.size;
        }
        plan_destroy (&plan);
    }
    json_object_set_new (object, "plans", plans);
    if ((looked_at < page->count || page->more) && last) {
        char id[IDENT_SIZE];
        json_object_set_new (object, "next", json_string (ident_text (last, id)));
    }
    char *text = json_write (object);
    json_decref (object);
    return text;
}

static void on_listed (void *owner, const struct store_page *page)
{
    struct listing *listing = owner;
    struct station *self = listing->station;
    if (page->result == STORE_DONE) {
        char *json = page_json (&listing->filter, page);
        front_reply (self, listing->peer,
                     &(struct reply){.status = ZERO_STATUS_OK_ID, .reason = "", .json = json});
        free (json);
    } else {
        front_refuse_store (self, listing->peer, page->result, page->error);
    }
    free (listing);
    front_resume (self);
}

static void manage_list (struct station *self, struct request *request,
                         const struct arguments *arguments)
{
    struct filter filter;
    struct reason reason;
    struct span text = arguments->count ? arguments->at[0] : (struct span){0};
    if (!read_filter (text, &filter, &reason)) {
        front_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    struct listing *listing = memory_new (sizeof *listing);
    *listing = (struct listing){self, peer_keep (&request->peer), filter};
    store_list (self->store, filter.after, filter.limit, on_listed, listing);
}

// -- the words

static const struct word {
    const char *name;
    size_t args_min, args_max;
    void (*run) (struct station *self, struct request *request, const struct arguments *arguments);
    const char *usage;
} words[] = {
    {"list", 0, 1, manage_list, "list [filter as JSON]"},
    {"message", 1, 1, manage_message, "message ID"},
    {"remove", 1, 1, manage_remove, "remove ID"},
};

static void run_word (struct station *self, struct request *request, const struct word *word)
{
    struct arguments arguments = {0};
    const struct message *message = &request->message;
    for (size_t i = 0; i < message->desc.count; i++) {
        if (message->desc.types[i] != ZERO_FRAME_ARG)
            continue;
        if (arguments.count < ARGS_MAX)
            arguments.at[arguments.count] = message->frames[i];
        arguments.count++;
    }
    if (arguments.count < word->args_min || arguments.count > word->args_max) {
        struct reason reason;
        reason_set (&reason, "got %zu arguments; %s", arguments.count, word->usage);
        front_refuse (self, &request->peer, ZPLAN_EARGUMENT, reason.text);
        return;
    }
    if (!station_store_up (self)) {
        front_refuse_store (self, &request->peer, STORE_LOST, "");
        return;
    }
    word->run (self, request, &arguments);
}

void manage_request (struct station *self, struct request *request)
{
    bool given;
    struct reason reason;
    struct span name = message_frame (&request->message, ZERO_FRAME_COMMAND, &given);
    if (!given) {
        front_refuse (self, &request->peer, ZPLAN_EARGUMENT, "COMMAND: the frame is missing");
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (span_is (name, words[i].name)) {
            run_word (self, request, &words[i]);
            return;
        }
    }
    reason_set (&reason, "COMMAND: no management word %s", quoted (name));
    front_refuse (self, &request->peer, ZPLAN_ENOTKNOWN, reason.text);
}
