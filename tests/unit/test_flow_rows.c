// The rows of a run: which there are after an event, what they cost, and what is read of them when
// they are damaged. Random runs: test_flow_rows_random.c.
#include "flow_shelf.h"

struct player {
    struct flow *flow;
    struct flow_run *run;
    struct shelf shelf;
    struct flow_effects effects; // of the last call
    size_t calls;
};

static void open_flow (struct player *self, const char *text)
{
    json_t *errors = NULL;
    *self = (struct player){.flow = flow_parse (span_text (text), NULL, &errors)};
    if (!self->flow)
        fail_msg ("%s: %s", text, json_dumps (errors, 0));
    self->run = flow_run_new (self->flow, "1f");
}

static void close_flow (struct player *self)
{
    flow_effects_clear (&self->effects);
    flow_run_destroy (&self->run, self->flow);
    flow_destroy (&self->flow);
    shelf_clear (&self->shelf);
}

// One call of the step function, and its rows.
static void carry_once (struct player *self, const struct flow_event *event)
{
    flow_effects_clear (&self->effects);
    flow_step (self->flow, self->run, event, 1000, &self->effects);
    shelf_write (&self->shelf, self->flow, self->run);
    self->calls++;
}

static void carry (struct player *self, const struct flow_event *event)
{
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    carry_once (self, event);
    while (self->effects.more)
        carry_once (self, &more);
}

static void begin (struct player *self)
{
    carry (self, &(struct flow_event){.kind = FLOW_BEGIN, .item = -1});
}

static void end_call (struct player *self, uint32_t step, int64_t item, enum flow_status status)
{
    json_t *value = json_integer (7);
    struct flow_event event = {.kind = FLOW_CALL_ENDED,
                               .step = step,
                               .item = item,
                               .status = status,
                               .value = value,
                               .text = "no"};
    carry (self, &event);
    json_decref (value);
}

static void reread (struct player *self, const char *name)
{
    struct reason reason;
    struct flow_run *read = shelf_read (&self->shelf, self->flow, &reason);
    if (!read)
        fail_msg ("%s: %s", name, reason.text);
    const char *part = runs_differ (self->flow, self->run, read);
    if (part)
        fail_msg ("%s: %s differs", name, part);
    flow_run_destroy (&self->run, self->flow);
    self->run = read;
}

static const char *field_of (const struct shelf_hash *hash, const char *field)
{
    static char text[256];
    size_t at = shelf_find (hash, span_text (field));
    if (at == hash->count)
        return "(none)";
    snprintf (text, sizeof text, "%.*s", (int)hash->fields[at + 1].size,
              (const char *)hash->fields[at + 1].data);
    return text;
}

// -- what is written

#define FLOW(steps) "{\"flow\": \"f\", \"steps\": {" steps "}}"
#define CALL        "{\"target\": \"t\"}"

static void test_fields (void **state)
{
    (void)state;
    struct player self;
    open_flow (&self, "{\"flow\": \"f\", \"params\": {\"p\": 3, \"t\": \"=idc.shouldFireTime\"}, "
                      "\"steps\": {\"a\": {\"target\": \"t\", \"for_each\": [1, 2, 3]}, "
                      "\"b\": {\"wait\": 60}, \"c\": {\"signal\": {\"count\": 2}}}}");
    self.run->fire = 60;
    begin (&self);
    CHECK_TEXT ("head", field_of (&self.shelf.run, "run.head"), "1 5 60 0 0 -");
    CHECK_TEXT ("state", field_of (&self.shelf.run, "run.state"), "active running 0 0");
    CHECK_TEXT ("params", field_of (&self.shelf.run, "run.params"),
                "{\"p\":{\"value\":3},\"t\":{\"time\":60}}");
    CHECK_TEXT ("list", field_of (&self.shelf.data, "0.list"), "[1,2,3]");
    CHECK_TEXT ("wait", field_of (&self.shelf.data, "1"), "{\"at\":61000}");
    CHECK_INT ("nodes", self.shelf.nodes.size, 48);
    CHECK ("map", span_equal (bytes_span (&self.shelf.maps[0]), span_of ("\x09\x09\x09", 3)));
    end_call (&self, 0, 1, FLOW_OK);
    end_call (&self, 0, 0, FLOW_NOT_OK);
    carry (&self, &(struct flow_event){.kind = FLOW_SIGNALLED, .step = 2, .item = -1, .key = "k"});
    carry (&self, &(struct flow_event){.kind = FLOW_SUSPEND, .item = -1});
    CHECK ("map", span_equal (bytes_span (&self.shelf.maps[0]), span_of ("\x0c\x0b\x09", 3)));
    CHECK_TEXT ("item", field_of (&self.shelf.data, "0.1"), "{\"value\":7,\"ended\":1}");
    CHECK_TEXT ("failed", field_of (&self.shelf.data, "0.0"), "{\"ended\":2,\"error\":\"no\"}");
    CHECK_TEXT ("error", field_of (&self.shelf.data, "0.error"), "no");
    CHECK_TEXT ("signal", field_of (&self.shelf.data, "2.signal.0"),
                "{\"key\":\"k\",\"value\":null}");
    CHECK_TEXT ("suspended", field_of (&self.shelf.run, "run.state"),
                "active running 2 0 suspended");
    reread (&self, "in progress");
    carry (&self, &(struct flow_event){.kind = FLOW_CANCEL, .item = -1});
    end_call (&self, 0, 2, FLOW_CALL_CANCELLED);
    CHECK_TEXT ("no signal", field_of (&self.shelf.data, "2.signal.0"), "(none)");
    CHECK_TEXT ("cancelled", field_of (&self.shelf.data, "0.2"), "{\"ended\":5,\"error\":\"no\"}");
    CHECK_TEXT ("uncaught", field_of (&self.shelf.run, "run.uncaught"), "[]");
    reread (&self, "ended");
    carry (&self,
           &(struct flow_event){.kind = FLOW_RETRY, .item = -1, .restart = true, .fresh = true});
    CHECK_TEXT ("no uncaught", field_of (&self.shelf.run, "run.uncaught"), "(none)");
    CHECK_TEXT ("no error", field_of (&self.shelf.data, "0.error"), "(none)");
    CHECK_TEXT ("not cancelled", field_of (&self.shelf.data, "0.2"), "(none)");
    reread (&self, "again");
    close_flow (&self);
}

// Nothing changed: no row.
static void test_nothing (void **state)
{
    (void)state;
    struct player self;
    open_flow (&self, FLOW ("\"a\": " CALL));
    begin (&self);
    carry (&self, &(struct flow_event){.kind = FLOW_CHECK, .item = -1});
    assert_int_equal (self.shelf.rows, 0);
    carry (&self, &(struct flow_event){.kind = FLOW_CALL_ENDED, .item = -1, .generation = 3});
    assert_int_equal (self.shelf.rows, 0);
    reread (&self, "nothing");
    shelf_write (&self.shelf, self.flow, self.run);
    assert_int_equal (self.shelf.rows, 0);
    close_flow (&self);
}

// -- what it costs

enum { MANY = 10000 };

static char *star_text (const char *centre, int count)
{
    char *text = malloc ((size_t)count * 64 + 200);
    size_t used =
        (size_t)sprintf (text, "{\"flow\":\"f\",\"max_parallel\":64,\"steps\":{\"s0\":%s", centre);
    for (int i = 1; i < count; i++)
        used += (size_t)sprintf (text + used, ",\"s%d\":{\"target\":\"t\",\"after\":[\"s0\"]}", i);
    sprintf (text + used, "}}");
    return text;
}

static void test_cost_of_items (void **state)
{
    (void)state;
    struct player self;
    size_t rows = 0, bytes = 0;
    open_flow (&self, "{\"flow\": \"f\", \"max_parallel\": 64, \"steps\": {\"a\": {\"target\": "
                      "\"t\", \"for_each\": 10000, \"collect\": \"count\"}}}");
    begin (&self);
    for (int i = 0; i < MANY; i++) {
        end_call (&self, 0, i, FLOW_OK);
        rows = self.shelf.rows > rows ? self.shelf.rows : rows;
        bytes = self.shelf.written > bytes ? self.shelf.written : bytes;
        shelf_cut (&self.shelf.data, 2); // to the list: the model searches all fields
    }
    printf ("# the end of an item of %d: at most %zu rows, %zu bytes\n", MANY, rows, bytes);
    assert_true (rows <= 6 && bytes <= 160);
    assert_int_equal (self.run->outcome, FLOW_WELL);
    close_flow (&self);
}

static void test_cost_of_steps (void **state)
{
    (void)state;
    struct player self;
    size_t rows = 0, bytes = 0;
    char *text = star_text (CALL, MANY);
    open_flow (&self, text);
    begin (&self);
    carry_once (&self, &(struct flow_event){.kind = FLOW_CALL_ENDED, .item = -1});
    printf ("# the end of a step before %d others: %zu rows, %zu bytes\n", MANY - 1,
            self.shelf.rows, self.shelf.written);
    while (self.effects.more)
        carry_once (&self, &(struct flow_event){.kind = FLOW_CHECK, .item = -1});
    for (uint32_t i = 1; i < 2000; i++) {
        end_call (&self, i, -1, FLOW_OK);
        rows = self.shelf.rows > rows ? self.shelf.rows : rows;
        bytes = self.shelf.written > bytes ? self.shelf.written : bytes;
        shelf_cut (&self.shelf.data, 0);
    }
    printf ("# the end of a step of %d: at most %zu rows, %zu bytes\n", MANY, rows, bytes);
    assert_true (rows <= 4 && bytes <= 96);
    free (text);
    close_flow (&self);
}

// -- between two calls

// A run that is read before each call that `more` asks for ends as one that is not.
static void test_more (void **state)
{
    (void)state;
    static const struct {
        const char *name, *centre;
        enum flow_status status;
        size_t calls;
    } rows[] = {{"all start", CALL, FLOW_OK, 4},
                {"all are blocked", CALL, FLOW_NOT_OK, 4},
                {"all are skipped", "{\"target\": \"t\", \"if\": \"1 == 2\"}", FLOW_OK, 4}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct player kept, read;
        const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
        const struct flow_event first = {.kind = FLOW_BEGIN, .item = -1},
                                end = {
                                    .kind = FLOW_CALL_ENDED, .item = -1, .status = rows[i].status};
        char *text = star_text (rows[i].centre, 3000);
        open_flow (&kept, text);
        open_flow (&read, text);
        const struct flow_event *events[] = {&first, &end};
        for (size_t j = 0; j < 2; j++) {
            bool goes_on = true;
            for (const struct flow_event *event = events[j]; goes_on; event = &more) {
                carry_once (&kept, event);
                carry_once (&read, event);
                // Each has a definition of its own.
                for (size_t k = 0; k < read.effects.count; k++)
                    read.effects.items[k].call = kept.effects.items[k].call;
                CHECK (rows[i].name, same_effects (&kept.effects, &read.effects));
                reread (&read, rows[i].name);
                CHECK (rows[i].name, !runs_differ (kept.flow, kept.run, read.run));
                goes_on = kept.effects.more;
            }
        }
        CHECK (rows[i].name, read.calls >= rows[i].calls);
        free (text);
        close_flow (&kept);
        close_flow (&read);
    }
}

// -- damaged rows

enum { OF_RUN, OF_DATA, OF_NODES, OF_MAP, OF_INPUT };

// Damage to a run with a: a for_each of three that is in progress, b: a call in flight, c: a signal
// that waits, d: after b.
static const struct {
    const char *name;
    int where;
    const char *field;  // of a hash; "+" or "-": longer, shorter; else an offset
    const char *value;  // NULL: it is deleted
    const char *reason; // in the text; NULL: it is read all the same
} damages[] = {
    {"no state", OF_RUN, "run.state", NULL, "run.state: is missing"},
    {"no head", OF_RUN, "run.head", NULL, "run.head: is missing"},
    {"empty state", OF_RUN, "run.state", "", "run.state: is not a phase"},
    {"unknown phase", OF_RUN, "run.state", "asleep running 9 0", "run.state: is not a phase"},
    {"unknown outcome", OF_RUN, "run.state", "active well 9 0", "run.state: is not a phase"},
    {"no number", OF_RUN, "run.state", "active running x 0", "run.state: is not a phase"},
    {"too large a number", OF_RUN, "run.state", "active running 4294967296 0", "run.state: is not"},
    {"leading zero", OF_RUN, "run.state", "active running 01 0", "run.state: is not a phase"},
    {"unknown word", OF_RUN, "run.state", "active running 9 0 lazy", "unknown word 'lazy'"},
    {"blank at the end", OF_RUN, "run.state", "active running 9 0 stop  fast", "unknown word"},
    {"sequence behind", OF_RUN, "run.state", "active running 0 0", "an item ended after the last"},
    {"ended too early", OF_RUN, "run.state", "ended failed 9 0", "ended, and steps are in flight"},
    {"undone too early", OF_RUN, "run.state", "undoing failed 9 0", "undoing, and steps are in"},
    {"last too early", OF_RUN, "run.state", "final failed 9 0", "final, and its last step"},
    {"undo in flight", OF_RUN, "run.state", "active running 9 0 undo_placed", "no such undo"},
    {"undo number", OF_RUN, "run.state", "active running 9 1", "no such undo"},
    {"short head", OF_RUN, "run.head", "1 5 0 0", "run.head: is not six numbers"},
    {"long head", OF_RUN, "run.head", "1 5 0 0 0 - -", "run.head: is not six numbers"},
    {"params are no JSON", OF_RUN, "run.params", "{\"p\"", "'run.params': JSON"},
    {"params are a list", OF_RUN, "run.params", "[]", "run.params: must be an object"},
    {"unknown param", OF_RUN, "run.params", "{\"q\": {\"value\": 1}}", "run.params: 'q'"},
    {"param without a value", OF_RUN, "run.params", "{\"p\": 1}", "run.params: 'p'"},
    {"a name twice", OF_RUN, "run.params", "{\"p\": {\"value\": 1}, \"p\": 1}", "JSON: duplicate"},
    {"input as of old", OF_RUN, "run.input", "{\"a\": 1}", NULL},
    {"old input is no JSON", OF_RUN, "run.input", "\xff", "'run.input': JSON"},
    {"output is cut", OF_RUN, "run.output", "[1, ", "'run.output': JSON"},
    {"uncaught is a number", OF_RUN, "run.uncaught", "1", "run.uncaught: must be a list"},
    {"fields of others", OF_RUN, "state", "anything", NULL},
    {"short nodes", OF_NODES, "-", "", "nodes: 63 bytes of 4 steps, want 64"},
    {"long nodes", OF_NODES, "+", "x", "nodes: 65 bytes of 4 steps, want 64"},
    {"state of a node", OF_NODES, "0", "\x07", "step a: unknown state"},
    {"unknown flags", OF_NODES, "3", "\x0c", "step a: unknown state or flags"},
    {"unknown timer", OF_NODES, "17", "\x06", "step b: unknown state or flags"},
    {"timer of a call", OF_NODES, "17", "\x02", NULL},
    {"timer of a signal", OF_NODES, "33", "\x02", "step c: a timer, and it is not in flight"},
    {"ended in flight", OF_NODES, "16", "\x03", "step b: both ended and not ended"},
    {"settled, not ended", OF_NODES, "18", "\x1c", "step b: both ended and not ended"},
    {"blocked in flight", OF_NODES, "18", "\x0d", "step b: both ended and not ended"},
    {"a signal in flight", OF_NODES, "34", "\x0c", "step c: in flight, and is no call"},
    {"begun, not in flight", OF_NODES, "18", "\x04", "step b: begun, and nothing"},
    {"running call", OF_NODES, "16", "\x02", "step b: in flight, and is no call"},
    {"new without a join", OF_NODES, "48", "\x01", "step d: begun, and nothing of it"},
    {"to be reset", OF_NODES, "50", "\x40", "step d: to be reset"},
    {"ready too soon", OF_NODES, "51", "\x01", "step d: ready, and has started"},
    {"ended too late", OF_NODES, "31", "\xff", "step b: ended after the last end"},
    {"a person's skip", OF_NODES, "48", "\x05\0\x02\0", NULL},
    {"input is no JSON", OF_INPUT, "+", "\xff", "'input': JSON"},
    {"no such step", OF_DATA, "4", "{}", "'4': no such step"},
    {"no step", OF_DATA, "a", "{}", "'a': no such step"},
    {"leading zero in a step", OF_DATA, "01", "{}", "'01': no such step"},
    {"unknown part", OF_DATA, "1.thing", "{}", "'1.thing': no such step"},
    {"no such item", OF_DATA, "0.3", "{}", "'0.3': step a: no such item"},
    {"items of a call", OF_DATA, "1.0", "{}", "'1.0': step b: no such item"},
    {"a list of a call", OF_DATA, "1.list", "[]", "'1.list': step b: 0 items"},
    {"longer list", OF_DATA, "0.list", "[1, 2, 3, 4]", "step a: 3 items in its map, want 4"},
    {"negative count", OF_DATA, "0.list", "-1", "3 items in its map, want -1"},
    {"list is no list", OF_DATA, "0.list", "{}", "3 items in its map, want -1"},
    {"huge count", OF_DATA, "0.list", "9223372036854775807", "3 items in its map"},
    {"list is no JSON", OF_DATA, "0.list", "[1, 2, 3", "'0.list': JSON"},
    {"no list", OF_DATA, "0.list", NULL, "'0.0': step a: no such item"},
    {"a count", OF_DATA, "0.list", "3", NULL},
    {"entry is a list", OF_DATA, "1", "[]", "'1': step b"},
    {"time is a text", OF_DATA, "1", "{\"at\": \"now\"}", "'1': step b"},
    {"time before 1970", OF_DATA, "1", "{\"at\": -1}", "'1': step b"},
    {"generation of an item", OF_DATA, "0.0", "{\"generation\": 65536}", "'0.0': step a"},
    {"end of an item", OF_DATA, "0.0", "{\"ended\": 4294967296}", "'0.0': step a"},
    {"item after the last end", OF_DATA, "0.0", "{\"ended\": 77}", "step a: an item ended after"},
    {"no text of an item", OF_DATA, "0.0", NULL, NULL},
    {"nested too deep", OF_DATA, "1", "[[[[[[[[[[[[[[[[", "'1': JSON"},
    {"signal is a number", OF_DATA, "2.signal.0", "1", "'2.signal.0': step c"},
    {"signal of a call", OF_DATA, "1.signal.0", "{}", "'1.signal.0': step b"},
    {"a signal is missing", OF_DATA, "2.signal.2", "{}", "step c: a signal is missing"},
    {"too many signals", OF_DATA, "2.signal.1000", "{}", "'2.signal.1000': step c"},
    {"a second signal", OF_DATA, "2.signal.1", "{}", NULL},
    {"short map", OF_MAP, "-", "", "step a: 2 items in its map, want 3"},
    {"long map", OF_MAP, "+", "x", "step a: 4 items in its map, want 3"},
    {"state of an item", OF_MAP, "1", "\x0f", "map of step a: item 1: unknown state 15"},
    {"item is running", OF_MAP, "2", "\x02", "map of step a: item 2: unknown state 2"},
    {"bits of an item", OF_MAP, "0", "\x43", "map of step a: item 0: unknown state 67"},
};

static void play_to_damage (struct player *self)
{
    open_flow (self,
               "{\"flow\": \"f\", \"params\": {\"p\": 1}, \"steps\": {"
               "\"a\": {\"target\": \"t\", \"for_each\": [1, 2, 3], \"tolerate\": 3}, \"b\": " CALL
               ", \"c\": {\"signal\": {\"count\": 3}}, "
               "\"d\": {\"target\": \"t\", \"after\": [\"b\"]}}}");
    begin (self);
    end_call (self, 0, 0, FLOW_OK);
    carry (self, &(struct flow_event){.kind = FLOW_SIGNALLED, .step = 2, .item = -1});
}

static void damage (struct shelf *shelf, int where, const char *field, const char *value)
{
    struct shelf_hash *hash = where == OF_RUN ? &shelf->run : &shelf->data;
    struct bytes *string = where == OF_NODES   ? &shelf->nodes
                           : where == OF_INPUT ? &shelf->input
                                               : &shelf->maps[0];
    if (where == OF_RUN || where == OF_DATA) {
        if (value)
            shelf_set (hash, span_text (field), span_text (value));
        else
            shelf_del (hash, span_text (field));
    } else if (field[0] == '-') {
        string->size--;
    } else if (field[0] == '+') {
        shelf_range (string, string->size, span_text (value));
    } else {
        size_t size = strcmp (value, "\x05") == 0 ? 4 : strlen (value); // a state and its flags
        shelf_range (string, strtoul (field, NULL, 10), span_of (value, size));
    }
}

static void test_damages (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (damages); i++) {
        struct player self;
        struct reason reason;
        play_to_damage (&self);
        damage (&self.shelf, damages[i].where, damages[i].field, damages[i].value);
        struct flow_run *read = shelf_read (&self.shelf, self.flow, &reason);
        if (!read != !!damages[i].reason || (!read && !strstr (reason.text, damages[i].reason)))
            fail_msg ("%s: %s, want %s", damages[i].name, read ? "was read" : reason.text,
                      damages[i].reason ? damages[i].reason : "it to be read");
        flow_run_destroy (&read, self.flow);
        close_flow (&self);
    }
}

// Bytes at random: what is read can go on with any event.
static void damage_at_random (struct shelf *shelf, uint64_t *random)
{
    struct shelf_hash *hash = next_random (random) % 2 ? &shelf->run : &shelf->data;
    struct bytes *bytes = &shelf->nodes;
    if (next_random (random) % 3 == 0 && hash->count)
        bytes = &hash->fields[next_random (random) % hash->count];
    else if (next_random (random) % 3 == 0)
        bytes = &shelf->maps[0];
    if (bytes->size)
        bytes->data[next_random (random) % bytes->size] ^= (uint8_t)(1 << next_random (random) % 8);
}

static void test_random_damages (void **state)
{
    (void)state;
    size_t reads = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct player self;
        struct reason reason;
        uint64_t random = seed * UINT64_C (0x9e3779b97f4a7c15);
        play_to_damage (&self);
        for (uint64_t left = 1 + next_random (&random) % 3; left > 0; left--)
            damage_at_random (&self.shelf, &random);
        struct flow_run *read = shelf_read (&self.shelf, self.flow, &reason);
        reads += read != NULL;
        for (int i = 0; i < 40 && read; i++) {
            struct flow_event event = {
                .kind = (enum flow_event_kind) (1 + next_random (&random) % FLOW_UNDO),
                .step = (uint32_t)(next_random (&random) % 4),
                .item = (int64_t)(next_random (&random) % 4) - 1,
                .status = (enum flow_status) (next_random (&random) % 3),
                .undo = read->phase == FLOW_UNDOING,
                .restart = next_random (&random) % 2,
                .fresh = next_random (&random) % 2};
            struct flow_effects effects = {.count = 0};
            flow_step (self.flow, read, &event, 1000, &effects);
            flow_effects_clear (&effects);
        }
        flow_run_destroy (&read, self.flow);
        close_flow (&self);
    }
    printf ("# of 4000 that were damaged %zu were read\n", reads);
    assert_in_range (reads, 100, 3900);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_fields),        cmocka_unit_test (test_nothing),
        cmocka_unit_test (test_cost_of_items), cmocka_unit_test (test_cost_of_steps),
        cmocka_unit_test (test_more),          cmocka_unit_test (test_damages),
        cmocka_unit_test (test_random_damages)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
