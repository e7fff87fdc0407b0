#include "store_flow.h"

#include <stdlib.h>

#include "decimal.h"
#include "memory.h"
#include "store_private.h"

enum { PAGE = 200, KEY_SIZE = sizeof KEY_FLOW_DEF + STATION_NAME_MAX };

static struct span definition_key (const char *name, char out[KEY_SIZE])
{
    return span_of (out, (size_t)snprintf (out, KEY_SIZE, KEY_FLOW_DEF "%s", name));
}

// Parse a version number; 0 = invalid.
static int parse_version_number (const redisReply *reply)
{
    char digits[DECIMAL_SIZE];
    int64_t number = reply_counter (reply);
    decimal_text (number, digits);
    bool plain = number <= INT32_MAX && span_is (reply_text (reply), digits);
    return plain ? (int)number : 0;
}

// -- all flows

// A flow whose head is read.
struct listed_flow {
    struct flow_listing *listing;
    struct store_flow_head *head;
    char name[STATION_NAME_MAX + 1];
    char *info; // memory of head->info; NULL = none
};

struct flow_listing {
    struct store *store;
    size_t max, count, left; // left: outstanding answers of this page
    struct listed_flow *flows;
    struct store_flow_head *heads;
    char *after; // "(" and the last name that was read, even if invalid; NULL: from the start
    size_t after_size;
    bool more;
    enum store_result result;
    char error[REASON_MAX];
    store_flow_heads_fn *reply;
    void *owner;
};

static void end_listing (struct flow_listing *self)
{
    self->reply (self->owner, &(struct store_flow_heads){.result = self->result,
                                                         .heads = self->heads,
                                                         .count = self->count,
                                                         .error = self->error});
    for (size_t i = 0; i < self->count; i++)
        free (self->flows[i].info);
    free (self->after);
    free (self->flows);
    free (self->heads);
    free (self);
}

static void note_listing_error (struct flow_listing *self, enum store_result result,
                                const char *error)
{
    self->result = result;
    snprintf (self->error, sizeof self->error, "%s", error ? error : "");
}

static void read_names_page (struct flow_listing *self);

// All heads of the page are read: read the next page, or answer.
static void end_listing_page (struct flow_listing *self)
{
    if (self->result == STORE_DONE && self->more && self->count < self->max)
        read_names_page (self);
    else
        end_listing (self);
}

// Let the next page begin after this name.
static void set_listing_cursor (struct flow_listing *self, struct span name)
{
    self->after = memory_resize (self->after, name.size + 1);
    self->after[0] = '(';
    if (name.size)
        memcpy (self->after + 1, name.data, name.size);
    self->after_size = name.size + 1;
}

// A flow's head was read. The last one ends the page.
static void on_flow_head (void *owner, const redisReply *reply)
{
    struct listed_flow *flow = owner;
    struct flow_listing *self = flow->listing;
    struct store_flow_head *head = flow->head;
    const char *error;
    enum store_result result = reply_key_result (reply, &error);
    if (result != STORE_DONE)
        note_listing_error (self, result, error);
    else if (reply_is_array (reply, 4)) {
        struct span info = reply_text (reply->element[3]);
        head->use = parse_version_number (reply->element[0]);
        head->last = parse_version_number (reply->element[1]);
        head->updated = reply_counter (reply->element[2]);
        if (info.size && !memchr (info.data, '\0', info.size)) {
            flow->info = memory_copy (info.data, info.size);
            head->info = span_of (flow->info, info.size);
        }
    }
    if (--self->left == 0)
        end_listing_page (self);
}

static void read_flow_head (struct listed_flow *flow)
{
    char key[KEY_SIZE];
    store_send_command (flow->listing->store, LINK_REPEAT,
                        WORDS (TEXT ("HMGET"), definition_key (flow->name, key), TEXT ("use"),
                               TEXT ("last"), TEXT ("updated"), TEXT ("info")),
                        on_flow_head, flow);
}

// A page of names is read: read the heads of these flows.
static void on_flow_names (void *owner, const redisReply *reply)
{
    struct flow_listing *self = owner;
    const char *error;
    size_t first = self->count;
    enum store_result result = reply_result (reply, &error);
    if (result == STORE_ERROR && store_replace_wrong_key (self->store, KEY_FLOW_NAMES, reply))
        result = STORE_DONE;
    size_t found = result == STORE_DONE && reply_is_array (reply, 0) ? reply->elements : 0;
    for (size_t i = 0; i < found && self->count < self->max; i++) {
        struct span name = reply_text (reply->element[i]);
        if (!station_name_valid (name))
            continue;
        struct listed_flow *flow = &self->flows[self->count];
        *flow = (struct listed_flow){.listing = self, .head = &self->heads[self->count++]};
        copy_text (flow->name, sizeof flow->name, name);
        *flow->head = (struct store_flow_head){.name = span_text (flow->name), .info = TEXT ("")};
    }
    self->more = found == PAGE;
    if (found)
        set_listing_cursor (self, reply_text (reply->element[found - 1]));
    self->left = self->count - first;
    if (result != STORE_DONE)
        note_listing_error (self, result, error);
    for (size_t i = first; i < self->count; i++)
        read_flow_head (&self->flows[i]);
    if (self->count == first)
        end_listing_page (self);
}

static void read_names_page (struct flow_listing *self)
{
    struct span from = self->after ? span_of (self->after, self->after_size) : TEXT ("-");
    store_send_command (self->store, LINK_REPEAT,
                        WORDS (TEXT ("ZRANGEBYLEX"), TEXT (KEY_FLOW_NAMES), from, TEXT ("+"),
                               TEXT ("LIMIT"), TEXT ("0"), NUMBER (PAGE)),
                        on_flow_names, self);
}

void store_flow_heads (struct store *self, size_t max, store_flow_heads_fn *reply, void *owner)
{
    struct flow_listing *listing = memory_new (sizeof *listing);
    listing->store = self;
    listing->max = max;
    listing->heads = memory_new (max * sizeof *listing->heads);
    listing->flows = memory_new (max * sizeof *listing->flows);
    listing->result = STORE_DONE;
    listing->reply = reply;
    listing->owner = owner;
    read_names_page (listing);
}

// -- a flow

struct flow_read_call {
    struct store *store;
    char name[STATION_NAME_MAX + 1];
    int version;
    enum link_repeat repeat;
    struct store_flow answer;
    // Processes the answer to the last read, unless it is an error.
    void (*next) (struct flow_read_call *self, const redisReply *reply);
    store_flow_fn *reply;
    void *owner;
};

static void end_flow_read (struct flow_read_call *self)
{
    self->reply (self->owner, &self->answer);
    free (self);
}

// Pass the answer on, or end the read if it is an error or missing.
static void on_flow_answer (void *owner, const redisReply *reply)
{
    struct flow_read_call *self = owner;
    self->answer.result = reply_key_result (reply, &self->answer.error);
    if (self->answer.result == STORE_DONE)
        self->next (self, reply);
    else
        end_flow_read (self);
}

static void send_flow_read (struct flow_read_call *self, const struct span *words, size_t count,
                            void (*next) (struct flow_read_call *self, const redisReply *reply))
{
    self->next = next;
    store_send_command (self->store, self->repeat, words, count, on_flow_answer, self);
}

static void on_flow_text (struct flow_read_call *self, const redisReply *reply)
{
    self->answer.text = reply_text (reply);
    end_flow_read (self);
}

static void on_plan_count (struct flow_read_call *self, const redisReply *reply)
{
    char key[KEY_SIZE];
    self->answer.plans = reply_counter (reply);
    send_flow_read (
        self,
        WORDS (TEXT ("HGET"), definition_key (self->name, key), NUMBER (self->answer.version)),
        on_flow_text);
}

// Choose the version to read, then read the number of plans and the text.
static void on_flow_versions (struct flow_read_call *self, const redisReply *reply)
{
    struct store_flow *answer = &self->answer;
    char field[STATION_NAME_MAX + 3];
    if (reply_is_array (reply, 3)) {
        answer->use = parse_version_number (reply->element[0]);
        answer->last = parse_version_number (reply->element[1]);
        answer->updated = reply_counter (reply->element[2]);
    }
    answer->version = self->version == STORE_FLOW_IN_USE ? answer->use
                      : self->version == STORE_FLOW_LAST ? answer->last
                                                         : self->version;
    snprintf (field, sizeof field, "s:%s", self->name);
    send_flow_read (self, WORDS (TEXT ("HGET"), TEXT (KEY_COUNT), TEXT (field)), on_plan_count);
}

static int compare_versions (const void *left, const void *right)
{
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// The fields of the definition were read: fields that are numbers are its versions.
static void on_flow_fields (struct flow_read_call *self, const redisReply *reply)
{
    struct store_flow *answer = &self->answer;
    char key[KEY_SIZE];
    size_t found = reply_is_array (reply, 0) ? reply->elements : 0;
    for (size_t i = 0; i < found && answer->version_count < 2 * STORE_FLOW_VERSIONS; i++) {
        int version = parse_version_number (reply->element[i]);
        if (version)
            answer->versions[answer->version_count++] = version;
    }
    qsort (answer->versions, answer->version_count, sizeof *answer->versions, compare_versions);
    if (found == 0) {
        answer->result = STORE_NONE;
        answer->error = "";
        end_flow_read (self);
        return;
    }
    send_flow_read (self,
                    WORDS (TEXT ("HMGET"), definition_key (self->name, key), TEXT ("use"),
                           TEXT ("last"), TEXT ("updated")),
                    on_flow_versions);
}

void store_flow_read (struct store *self, const char *name, int version, enum link_repeat repeat,
                      store_flow_fn *reply, void *owner)
{
    char key[KEY_SIZE];
    struct flow_read_call *call = memory_new (sizeof *call);
    call->store = self;
    snprintf (call->name, sizeof call->name, "%s", name);
    call->version = version;
    call->repeat = repeat;
    call->reply = reply;
    call->owner = owner;
    send_flow_read (call, WORDS (TEXT ("HKEYS"), definition_key (name, key)), on_flow_fields);
}

// -- changes

void store_flow_put (struct store *self, const struct store_flow_change *change,
                     store_done_fn *reply, void *owner)
{
    char buffer[KEY_SIZE];
    struct span key = definition_key (change->name, buffer);
    // One command writes all fields: if the key has a wrong type, the writer deletes the key and
    // repeats only the commands that failed.
    const struct span words[] = {TEXT ("HSET"),
                                 key,
                                 TEXT ("use"),
                                 NUMBER (change->use),
                                 TEXT ("last"),
                                 NUMBER (change->last),
                                 TEXT ("updated"),
                                 NUMBER (change->updated),
                                 TEXT ("info"),
                                 TEXT (change->info),
                                 NUMBER (change->version),
                                 change->text};
    const size_t count = sizeof words / sizeof *words;
    store_put (self, words, change->version ? count : count - 2);
    for (size_t i = 0; i < change->dropped_count; i++)
        store_put (self, WORDS (TEXT ("HDEL"), key, NUMBER (change->dropped[i])));
    store_put (self, WORDS (TEXT ("ZADD"), TEXT (KEY_FLOW_NAMES), TEXT ("0"), TEXT (change->name)));
    store_reply_when_written (self, WAITER_CLIENT, reply, owner);
}

void store_flow_remove (struct store *self, const char *name, store_done_fn *reply, void *owner)
{
    char key[KEY_SIZE];
    store_put (self, WORDS (TEXT ("DEL"), definition_key (name, key)));
    store_put (self, WORDS (TEXT ("ZREM"), TEXT (KEY_FLOW_NAMES), TEXT (name)));
    store_reply_when_written (self, WAITER_CLIENT, reply, owner);
}

void store_flow_settle (struct store *self, store_done_fn *reply, void *owner)
{
    store_reply_when_written (self, WAITER_CLIENT, reply, owner);
}
