// A model of Redis for simulated stations: what each connection has sent is delivered piece by
// piece, or never, or when its client has long given it up. It knows the commands that a station
// sends about its ownership; keys are hashes and lists.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_model;

enum { MODEL_ARGS_MAX = 12, MODEL_TEXT_MAX = 64 };

struct model_command {
    size_t count;
    char args[MODEL_ARGS_MAX][MODEL_TEXT_MAX];
};

enum model_reply_type { MODEL_OK, MODEL_NIL, MODEL_ERROR, MODEL_TEXTS };

struct model_reply {
    enum model_reply_type type;
    size_t count; // of MODEL_TEXTS: those of HMGET, or of EXEC how many commands it ran
    char texts[2][MODEL_TEXT_MAX]; // "" = nil; of MODEL_ERROR the first
};

struct redis_model *redis_model_new (void);
void redis_model_destroy (struct redis_model **self);

// A connection; its number.
int redis_model_open (struct redis_model *self);

// What the client has written.
void redis_model_send (struct redis_model *self, int connection,
                       const struct model_command *command);

// Let the server have at most so many commands of it.
void redis_model_deliver (struct redis_model *self, int connection, size_t count);

// How many commands were sent and not delivered.
size_t redis_model_pending (const struct redis_model *self, int connection);

// The next answer. False: there is none yet.
bool redis_model_reply (struct redis_model *self, int connection, struct model_reply *ret);

// All connections end, and what they sent is gone; the data is as it was at `redis_model_save`.
void redis_model_save (struct redis_model *self);
void redis_model_roll_back (struct redis_model *self);

// All connections end, and the data is gone.
void redis_model_flush (struct redis_model *self);

// Refuse writes with this error, NULL = none: "OOM ...", "NOREPLICAS ...".
void redis_model_refuse (struct redis_model *self, const char *error);

// The list `applied`: the n-th item; NULL = there are no more.
const char *redis_model_item (struct redis_model *self, size_t n);
