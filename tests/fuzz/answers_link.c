#include "answers_private.h"
#include "commands.h"

struct question {
    struct question *next;
    link_reply_fn *reply;
    void *owner;
    enum link_repeat repeat;
    struct form form;
    struct effect effect;
};

struct link {
    enum link_state state;
    struct link_io io;
    struct question *first, **last; // questions that were sent, or wait for the link to be up
    size_t pending;
    bool given_up, closing;
    struct asked_command {
        char name[16];
        size_t count;
    } asked[24];
};

static struct link the_link;

// -- questions

static struct question *ask (link_reply_fn *reply, void *owner, enum link_repeat repeat)
{
    struct question *question = calloc (1, sizeof *question);
    HOLDS (question);
    *question = (struct question){.reply = reply, .owner = owner, .repeat = repeat};
    *the_link.last = question;
    the_link.last = &question->next;
    the_link.pending++;
    return question;
}

static void answer (struct question *question, const redisReply *reply)
{
    the_link.pending--;
    question->reply (question->owner, reply);
    free (question);
}

bool answers_next (void)
{
    struct link *self = &the_link;
    struct question *question = self->first;
    if (!question || self->state != LINK_UP || self->given_up)
        return false;
    self->first = question->next;
    if (!self->first)
        self->last = &self->first;
    answer (question, answer_read (&question->form, &question->effect));
    return true;
}

static struct form form_of (const struct link_call *call)
{
    static const struct {
        const char *command;
        struct form form;
        int less; // the reply has so many elements less than arguments; -1 = any number
    } forms[] = {{"HMGET", {.type = FORM_ARRAY, .exact = true}, 1},
                 {"MGET", {.type = FORM_ARRAY, .exact = true}, 0},
                 {"ZMSCORE", {.type = FORM_ARRAY, .exact = true}, 1},
                 {"HGETALL", {.type = FORM_ARRAY, .unit = 2}, -1},
                 {"ZRANGE", {.type = FORM_ARRAY, .unit = 1}, -1},
                 {"ZRANGEBYLEX", {.type = FORM_ARRAY, .unit = 1}, -1},
                 {"XRANGE", {.type = FORM_ENTRIES}, -1},
                 {"XREVRANGE", {.type = FORM_ENTRIES}, -1},
                 {"ZCARD", {.type = FORM_NUMBER}, -1},
                 {"ZCOUNT", {.type = FORM_NUMBER}, -1},
                 {"HLEN", {.type = FORM_NUMBER}, -1},
                 {"XLEN", {.type = FORM_NUMBER}, -1},
                 {"EXISTS", {.type = FORM_NUMBER}, -1}};
    static const struct form scripts[SCRIPTS] = {
        [SCRIPT_LIST] = {.type = FORM_ARRAY, .head = 1, .unit = 3},
        [SCRIPT_PAGE] = {.type = FORM_ARRAY, .unit = 3},
        [SCRIPT_HISTORY] = {.type = FORM_ARRAY, .head = 5, .unit = 6, .rows = true},
        [SCRIPT_FORGET] = {.type = FORM_ARRAY, .head = 2, .exact = true},
        [SCRIPT_OUTPUTS] = {.type = FORM_NUMBER},
    };
    if (!call->command)
        return scripts[call->script];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp (forms[i].command, call->command) == 0) {
            struct form form = forms[i].form;
            form.head = forms[i].less < 0 ? 0 : call->count - (size_t)forms[i].less;
            return form;
        }
    return (struct form){.type = FORM_VALUE};
}

static struct asked_command *asked_command (const char *command)
{
    enum { COMMANDS = sizeof the_link.asked / sizeof *the_link.asked };
    size_t i = 0;
    while (i + 1 < COMMANDS && *the_link.asked[i].name && strcmp (the_link.asked[i].name, command))
        i++;
    snprintf (the_link.asked[i].name, sizeof the_link.asked[i].name, "%s", command);
    return &the_link.asked[i];
}

size_t answers_asked (const char *command)
{
    return asked_command (command)->count;
}

void link_call (struct link *self, const struct link_call *call)
{
    if (call->command)
        asked_command (call->command)->count++;
    if (self->closing || (self->state != LINK_UP && call->repeat == LINK_ONCE))
        call->reply (call->owner, NULL);
    else
        ask (call->reply, call->owner, call->repeat)->form = form_of (call);
}

static void copy_token (char out[OWNER_TEXT_SIZE], struct span text)
{
    snprintf (out, OWNER_TEXT_SIZE, "%.*s", (int)text.size,
              text.size ? (const char *)text.data : "");
}

// Note the effect of HSET plan:owner FIELD VALUE ...
static void note_owner (struct effect *effect, const struct span *words, size_t count)
{
    if (count < 4 || !span_is (words[0], "HSET") || !span_is (words[1], "plan:owner"))
        return;
    for (size_t i = 2; i + 1 < count; i += 2)
        if (span_is (words[i], "token"))
            copy_token (effect->token, words[i + 1]);
        else if (span_is (words[i], "batch")) {
            char text[OWNER_TEXT_SIZE];
            copy_token (text, words[i + 1]);
            effect->has_batch = true;
            effect->batch = strtoll (text, NULL, 10);
        }
}

static enum form_type batch_form (const struct span *words)
{
    static const struct {
        const char *command;
        enum form_type type;
    } forms[] = {
        {"WATCH", FORM_WATCH}, {"MULTI", FORM_MULTI}, {"EXEC", FORM_BATCH}, {"EVAL", FORM_BATCH}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (span_is (words[0], forms[i].command))
            return forms[i].type;
    bool looks = span_is (words[0], "HMGET") && span_is (words[1], "plan:owner");
    return looks ? FORM_LOOK : FORM_OK;
}

// Note the effect of EVAL: the script, 1, the key, token, batch, and the size and words of each
// command.
static void note_script (struct effect *effect, const struct span *words, size_t count)
{
    enum { ROWS_AT = 6 };
    char text[OWNER_TEXT_SIZE];
    *effect = (struct effect){.is_script = true};
    copy_token (effect->found, words[4]);
    copy_token (text, words[5]);
    effect->found_batch = strtoll (text, NULL, 10);
    for (size_t at = ROWS_AT, size; at < count; at += size + 1) {
        copy_token (text, words[at]);
        size = strtoull (text, NULL, 10);
        note_owner (effect, words + at + 1, size);
        effect->commands++;
    }
}

void link_send (struct link *self, const struct commands *commands, link_reply_fn *reply,
                void *owner)
{
    struct effect effect = {0};
    const struct span *words = commands->words;
    if (self->closing || self->state != LINK_UP)
        return;
    for (size_t i = 0; i < commands->commands; words += commands->sizes[i++]) {
        struct question *question = ask (reply, owner, LINK_ONCE);
        question->form.type = batch_form (words);
        switch (question->form.type) {
        case FORM_MULTI:
            effect = (struct effect){0};
            break;
        case FORM_BATCH:
            if (span_is (words[0], "EVAL"))
                note_script (&effect, words, commands->sizes[i]);
            question->effect = effect;
            break;
        default:
            note_owner (&effect, words, commands->sizes[i]);
            effect.commands++;
        }
    }
}

// -- the link

struct link *link_new (const struct link_config *config, struct reactor *reactor,
                       const struct link_io *io)
{
    (void)config, (void)reactor;
    the_link.io = *io;
    return &the_link;
}

static void set_state (enum link_state state)
{
    the_link.state = state;
    the_link.io.changed (the_link.io.owner, state);
}

// Answer the pending questions as lost; those that may be repeated wait, unless `all`.
static void lose_all (bool all)
{
    struct link *self = &the_link;
    struct question *first = self->first;
    self->first = NULL;
    self->last = &self->first;
    self->pending = 0;
    while (first) {
        struct question *question = first;
        first = question->next;
        question->next = NULL;
        self->pending++;
        if (all || question->repeat == LINK_ONCE) {
            answer (question, NULL);
        } else {
            *self->last = question;
            self->last = &question->next;
        }
    }
}

void answers_begin (struct feed *feed)
{
    struct database empty = {.feed = feed};
    memcpy (empty.words, the_database.words, sizeof empty.words);
    empty.word_count = the_database.word_count;
    the_database = empty;
    the_link = (struct link){.state = LINK_DOWN};
    the_link.last = &the_link.first;
}

void answers_connect (void)
{
    if (the_link.state != LINK_DOWN)
        return;
    set_state (LINK_OPENING);
    the_database.refusal = NULL;
    set_state (LINK_UP);
}

void answers_lose (void)
{
    the_link.given_up = false;
    if (the_link.state != LINK_UP)
        return;
    the_link.state = LINK_OPENING; // nothing is sent from here on
    lose_all (false);
    set_state (LINK_DOWN);
}

void answers_settle (void)
{
    if (the_link.given_up)
        answers_lose ();
}

void link_renew (struct link *self, const char *why)
{
    (void)why;
    self->given_up = true;
}

void link_destroy (struct link **self_p)
{
    the_link.closing = true;
    lose_all (true);
    *self_p = NULL;
}

void link_replicate (struct link *self, link_replicated_fn *reply, void *owner)
{
    (void)self;
    reply (owner, feed_byte (the_database.feed) % 4 != 3);
}

void link_flush (struct link *self)
{
    self->io.gather (self->io.owner);
    self->io.flushed (self->io.owner);
}

size_t link_pending (const struct link *self)
{
    return self->pending;
}

enum link_state link_state (const struct link *self)
{
    (void)self;
    return LINK_UP;
}

const char *link_trouble (const struct link *self)
{
    (void)self;
    return "";
}

int64_t link_received_us (const struct link *self)
{
    (void)self;
    return 0;
}

bool link_busy (const struct link *self)
{
    return self->pending > 64;
}

bool link_idle (const struct link *self)
{
    return !link_busy (self);
}

const struct link_facts *link_facts (const struct link *self)
{
    static const struct link_facts facts = {.clock_known = true};
    (void)self;
    return &facts;
}
