#include "flow_parser.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "memory.h"

struct parse {
    struct parse *next;
    char *text;
    size_t size;
    struct flow_known known;
    const char *name; // name of the flow, while its JSON is checked; NULL: not known
    int done_fd;
    struct flow *flow;
    json_t *errors;
    flow_parsed_fn *parsed; // NULL: `flow` is to be destroyed
    void *owner;
};

struct flow_parser {
    struct reactor *reactor;
    struct source source;
    int done_fd;           // -1: not created yet
    struct parse *running; // the parse on the thread; NULL: none
    pthread_t thread;
    struct parse *first; // pending parses
};

// -- the names that a definition refers to

// Whether a name is a target; `ret`: what is known of it.
static bool look_up_target (void *context, const char *name, struct flow_target *ret)
{
    const struct parse *parse = context;
    const struct flow_known *known = &parse->known;
    const struct flow_entry *entry = flow_names_find (&known->flows, span_text (name));
    bool own = parse->name && strcmp (name, parse->name) == 0;
    *ret = (struct flow_target){.is_flow = entry != NULL};
    if (!entry && !own)
        return known->any_target || json_object_get (known->targets, name);
    if (entry && entry->facts)
        ret->report = &entry->facts->report;
    if (entry && !known->was_accepted && parse->name)
        ret->reaches =
            flow_names_lead_to (&known->flows, span_text (name), span_text (parse->name));
    return true;
}

// -- one definition

// Parse the text, or destroy the flow of a reap. It may run on the thread.
static void run_parse (struct parse *self)
{
    struct flow_world world = {look_up_target, self};
    if (!self->parsed) {
        flow_destroy (&self->flow);
        return;
    }
    json_t *json = flow_read_text (span_of (self->text, self->size), &self->errors);
    if (!json)
        return;
    self->name = json_string_value (json_object_get (json, "flow"));
    if (self->known.only_json)
        self->errors = json_array ();
    else
        self->flow = flow_read (json, &world, &self->errors);
    self->name = NULL;
    json_decref (json);
}

static void *run_on_thread (void *context)
{
    struct parse *self = context;
    run_parse (self);
    uint64_t one = 1;
    ssize_t wrote = write (self->done_fd, &one, sizeof one);
    (void)wrote; // the counter cannot overflow
    return NULL;
}

// Call back the caller of a parse that has ended, and free the parse.
static void end_parse (struct parse *self)
{
    struct parse parse = *self;
    flow_names_clear (&parse.known.flows);
    json_decref (parse.known.targets);
    free (parse.text);
    free (self);
    if (parse.parsed)
        parse.parsed (parse.owner, parse.flow, parse.errors);
    else
        flow_destroy (&parse.flow); // a reap that was abandoned before it ran
}

// Start the next pending parse on the thread, unless it is busy.
static void start_next_parse (struct flow_parser *self)
{
    struct parse *parse = self->first;
    if (self->running || !parse)
        return;
    self->first = parse->next;
    parse->done_fd = self->done_fd;
    self->running = parse;
    if (pthread_create (&self->thread, NULL, run_on_thread, parse) == 0)
        return;
    self->running = NULL;
    run_parse (parse); // no thread can be created: parse it here
    end_parse (parse);
}

static void on_thread_done (void *owner, uint32_t events)
{
    struct flow_parser *self = owner;
    struct parse *parse = self->running;
    uint64_t count;
    (void)events;
    if (read (self->done_fd, &count, sizeof count) != sizeof count || !parse)
        return;
    pthread_join (self->thread, NULL);
    self->running = NULL;
    start_next_parse (self);
    end_parse (parse);
}

// -- the queue

struct flow_parser *flow_parser_new (struct reactor *reactor)
{
    struct flow_parser *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->done_fd = -1;
    self->source = (struct source){.call = on_thread_done, .owner = self};
    return self;
}

void flow_parser_destroy (struct flow_parser **self_p)
{
    struct flow_parser *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    if (self->running) {
        pthread_join (self->thread, NULL);
        flow_destroy (&self->running->flow);
        json_decref (self->running->errors);
        self->running->errors = NULL;
        self->running->next = self->first;
        self->first = self->running;
    }
    for (struct parse *parse; (parse = self->first);) {
        self->first = parse->next;
        end_parse (parse);
    }
    source_end (&self->source);
    if (self->done_fd >= 0)
        close (self->done_fd);
    free (self);
}

// Create the descriptor through which the thread reports. False: none can be created, so parse on
// the main thread.
static bool ensure_done_fd (struct flow_parser *self)
{
    if (self->done_fd >= 0)
        return true;
    self->done_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->done_fd < 0)
        return false;
    source_set (&self->source, self->reactor, self->done_fd, EPOLLIN);
    return true;
}

static void queue_parse (struct flow_parser *self, struct parse *parse, enum flow_parse_turn turn)
{
    struct parse **at = &self->first;
    while (*at && turn == FLOW_PARSE_LAST)
        at = &(*at)->next;
    parse->next = *at;
    *at = parse;
    start_next_parse (self);
}

void flow_parser_reap (struct flow_parser *self, struct flow *flow)
{
    enum { STEPS_HERE = 500 };
    if (!self || flow->step_count <= STEPS_HERE || !ensure_done_fd (self)) {
        flow_destroy (&flow);
        return;
    }
    struct parse *parse = memory_new (sizeof *parse);
    parse->flow = flow;
    queue_parse (self, parse, FLOW_PARSE_LAST);
}

void flow_parser_ask (struct flow_parser *self, struct span text, struct flow_known *known,
                      enum flow_parse_turn turn, flow_parsed_fn *parsed, void *owner)
{
    struct parse *parse = memory_new (sizeof *parse);
    *parse = (struct parse){.size = text.size, .known = *known, .parsed = parsed, .owner = owner};
    *known = (struct flow_known){.was_accepted = false};
    parse->text = memory_copy (text.data, text.size);
    if (text.size <= FLOW_PARSE_HERE || text.size > FLOW_TEXT_MAX || !ensure_done_fd (self)) {
        run_parse (parse);
        end_parse (parse);
        return;
    }
    queue_parse (self, parse, turn);
}
