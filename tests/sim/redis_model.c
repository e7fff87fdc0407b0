#include "redis_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { QUEUE_MAX = 64, FIELDS_MAX = 4, ITEMS_MAX = 1 << 16 };

struct data {
    char owner[FIELDS_MAX][2][MODEL_TEXT_MAX]; // fields of plan:owner
    size_t fields;
    size_t items; // of the list, whose texts are kept apart
};

struct connection {
    bool open;
    struct model_command sent[QUEUE_MAX];
    size_t sent_first, sent_count;
    struct model_reply replies[QUEUE_MAX];
    size_t reply_first, reply_count;
    struct model_command queued[QUEUE_MAX]; // since MULTI
    size_t queued_count;
    bool multi, failed, watches, broken;
};

struct redis_model {
    struct data data, saved;
    char (*items)[MODEL_TEXT_MAX];
    struct connection *connections;
    size_t count, room;
    const char *refusal;
};

struct redis_model *redis_model_new (void)
{
    struct redis_model *self = memory_new (sizeof *self);
    self->items = memory_new (ITEMS_MAX * sizeof *self->items);
    return self;
}

void redis_model_destroy (struct redis_model **self)
{
    free ((*self)->items);
    free ((*self)->connections);
    free (*self);
    *self = NULL;
}

int redis_model_open (struct redis_model *self)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 16;
        self->connections =
            memory_resize (self->connections, self->room * sizeof *self->connections);
    }
    struct connection *connection = &self->connections[self->count];
    memset (connection, 0, sizeof *connection);
    connection->open = true;
    return (int)self->count++;
}

void redis_model_send (struct redis_model *self, int number, const struct model_command *command)
{
    struct connection *connection = &self->connections[number];
    if (connection->open && connection->sent_count < QUEUE_MAX)
        connection->sent[(connection->sent_first + connection->sent_count++) % QUEUE_MAX] =
            *command;
}

size_t redis_model_pending (const struct redis_model *self, int number)
{
    return self->connections[number].open ? self->connections[number].sent_count : 0;
}

bool redis_model_reply (struct redis_model *self, int number, struct model_reply *ret)
{
    struct connection *connection = &self->connections[number];
    if (!connection->open || connection->reply_count == 0)
        return false;
    *ret = connection->replies[connection->reply_first];
    connection->reply_first = (connection->reply_first + 1) % QUEUE_MAX;
    connection->reply_count--;
    return true;
}

// -- commands

static const char *field_of (const struct redis_model *self, const char *name)
{
    for (size_t i = 0; i < self->data.fields; i++)
        if (strcmp (self->data.owner[i][0], name) == 0)
            return self->data.owner[i][1];
    return "";
}

static void set_field (struct redis_model *self, const char *name, const char *value)
{
    size_t i = 0;
    while (i < self->data.fields && strcmp (self->data.owner[i][0], name) != 0)
        i++;
    if (i == self->data.fields && i < FIELDS_MAX)
        snprintf (self->data.owner[self->data.fields++][0], MODEL_TEXT_MAX, "%s", name);
    snprintf (self->data.owner[i][1], MODEL_TEXT_MAX, "%s", value);
}

// Who watches it does not get what it does under the watch.
static void touched (struct redis_model *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->connections[i].broken = self->connections[i].broken || self->connections[i].watches;
}

static bool is (const struct model_command *command, const char *name)
{
    return strcmp (command->args[0], name) == 0;
}

static bool writes (const struct model_command *command)
{
    return is (command, "HSET") || is (command, "RPUSH");
}

static void apply (struct redis_model *self, const struct model_command *command)
{
    if (is (command, "HSET")) {
        for (size_t i = 2; i + 1 < command->count; i += 2)
            set_field (self, command->args[i], command->args[i + 1]);
        touched (self);
    } else if (is (command, "RPUSH") && self->data.items < ITEMS_MAX) {
        snprintf (self->items[self->data.items++], MODEL_TEXT_MAX, "%s", command->args[2]);
    }
}

static struct model_reply error (const char *text)
{
    struct model_reply reply = {.type = MODEL_ERROR};
    snprintf (reply.texts[0], MODEL_TEXT_MAX, "%s", text);
    return reply;
}

static struct model_reply exec (struct redis_model *self, struct connection *connection)
{
    bool broken = connection->broken, failed = connection->failed;
    size_t count = connection->queued_count;
    connection->multi = connection->failed = connection->watches = connection->broken = false;
    connection->queued_count = 0;
    if (failed)
        return error (self->refusal && strncmp (self->refusal, "OOM", 3) == 0
                          ? "EXECABORT Transaction discarded because of: OOM"
                          : "EXECABORT Transaction discarded");
    if (broken)
        return (struct model_reply){.type = MODEL_NIL};
    for (size_t i = 0; i < count; i++)
        apply (self, &connection->queued[i]);
    return (struct model_reply){.type = MODEL_TEXTS, .count = count};
}

// The script for a full memory: what it must find, the new token and number, and the item.
static struct model_reply fenced (struct redis_model *self, const struct model_command *command)
{
    enum { FOUND = 1, FOUND_BATCH, TOKEN, BATCH, ITEM };
    if (strcmp (field_of (self, "token"), command->args[FOUND]) != 0 ||
        strcmp (field_of (self, "batch"), command->args[FOUND_BATCH]) != 0)
        return (struct model_reply){.type = MODEL_NIL};
    snprintf (self->items[self->data.items++ % ITEMS_MAX], MODEL_TEXT_MAX, "%s",
              command->args[ITEM]);
    set_field (self, "token", command->args[TOKEN]);
    set_field (self, "batch", command->args[BATCH]);
    touched (self);
    return (struct model_reply){.type = MODEL_TEXTS, .count = 3};
}

static struct model_reply run (struct redis_model *self, struct connection *connection,
                               const struct model_command *command)
{
    struct model_reply reply = {.type = MODEL_OK};
    if (is (command, "EXEC"))
        return exec (self, connection);
    if (is (command, "FENCED"))
        return fenced (self, command);
    if (self->refusal && writes (command)) {
        connection->failed = connection->multi;
        return error (self->refusal);
    }
    if (connection->multi) {
        connection->queued[connection->queued_count++ % QUEUE_MAX] = *command;
    } else if (is (command, "MULTI")) {
        connection->multi = true;
    } else if (is (command, "WATCH")) {
        connection->watches = true;
    } else if (is (command, "HMGET")) {
        reply.type = MODEL_TEXTS;
        reply.count = 2;
        for (size_t i = 0; i < 2; i++)
            snprintf (reply.texts[i], MODEL_TEXT_MAX, "%s", field_of (self, command->args[2 + i]));
    } else {
        apply (self, command);
    }
    return reply;
}

void redis_model_deliver (struct redis_model *self, int number, size_t count)
{
    struct connection *connection = &self->connections[number];
    for (; connection->open && count && connection->sent_count; count--) {
        struct model_command command = connection->sent[connection->sent_first];
        connection->sent_first = (connection->sent_first + 1) % QUEUE_MAX;
        connection->sent_count--;
        struct model_reply reply = run (self, connection, &command);
        if (connection->reply_count < QUEUE_MAX)
            connection->replies[(connection->reply_first + connection->reply_count++) % QUEUE_MAX] =
                reply;
    }
}

// -- what befalls it

static void end_connections (struct redis_model *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->connections[i].open = self->connections[i].watches = false;
}

void redis_model_save (struct redis_model *self)
{
    self->saved = self->data;
}

void redis_model_roll_back (struct redis_model *self)
{
    end_connections (self);
    self->data = self->saved;
}

void redis_model_flush (struct redis_model *self)
{
    end_connections (self);
    self->data.fields = 0;
    self->saved = self->data;
}

void redis_model_refuse (struct redis_model *self, const char *error_text)
{
    self->refusal = error_text;
}

const char *redis_model_item (struct redis_model *self, size_t n)
{
    return n < self->data.items ? self->items[n] : NULL;
}
