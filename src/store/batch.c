#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "decimal.h"
#include "memory.h"

enum {
    ITEMS_MAX = 256,     // of a call: more give nothing, and Redis stands still for longer
    BYTES_MAX = 1 << 20, // of a call, unless one item has more
    ITEMS_MANY = 64,     // so many go out beside a call, that Redis need not wait for the station
    UNDER_WAY_MAX = 2,
    ARGUMENTS_FIRST = 1024,
    BYTES_FIRST = 65536
};

struct item {
    uint64_t key;
    void *owner;
    size_t first, count; // of its arguments
    bool may_wait;
    bool is_late; // they are made when the call goes out
};

struct argument {
    size_t offset, size;
};

struct batch {
    struct batches *of;
    struct item items[ITEMS_MAX];
    size_t size, waiting; // items; those that may wait
    struct argument *arguments;
    size_t argument_count, argument_room;
    uint8_t *bytes;
    size_t byte_count, byte_room;
    int64_t asked_us;
    const char *columns; // NULL = item by item
    enum script script;
    struct batch_before before; // without a command there is none
};

struct batches {
    struct batch_kind kind;
    struct link *link;
    struct reactor *reactor;
    struct timer timer; // runs while what gathers is left to wait
    void *owner;
    struct batch *open;  // gathers; NULL = nothing
    struct batch *spare; // for the next one; NULL = none
    size_t under_way;    // calls
    size_t pending;      // items
};

// -- what may wait

static void on_patience_over (void *owner)
{
    struct batches *self = owner;
    batches_send (self);
    link_flush (self->link);
}

// Whether what gathers is left alone for now.
static bool waits (struct batches *self)
{
    if (self->open->waiting < self->open->size || self->open->size >= ITEMS_MANY)
        return false;
    if (!timer_is_set (&self->timer))
        timer_set (&self->timer, self->reactor, self->kind.patience_ms);
    return true;
}

// -- what gathers

static struct batch *batch_new (struct batches *of)
{
    struct batch *self = of->spare;
    of->spare = NULL;
    if (!self) {
        self = memory_new (sizeof *self);
        self->of = of;
        self->argument_room = ARGUMENTS_FIRST;
        self->arguments = memory_resize (NULL, ARGUMENTS_FIRST * sizeof *self->arguments);
        self->byte_room = BYTES_FIRST;
        self->bytes = memory_resize (NULL, BYTES_FIRST);
    }
    self->script = of->kind.script;
    return self;
}

static void batch_free (struct batch *self)
{
    free (self->arguments);
    free (self->bytes);
    free (self);
}

// One is kept, unless it has grown: to make it takes longer than what else a call of one item does.
static void batch_destroy (struct batch *self)
{
    struct batches *of = self->of;
    if (of->spare || self->argument_room > ARGUMENTS_FIRST || self->byte_room > BYTES_FIRST) {
        batch_free (self);
        return;
    }
    self->size = self->waiting = self->argument_count = self->byte_count = 0;
    self->columns = NULL;
    self->before = (struct batch_before){0};
    of->spare = self;
}

void batch_add (struct batch *self, struct span argument)
{
    if (self->argument_count == self->argument_room) {
        self->argument_room *= 2;
        self->arguments =
            memory_resize (self->arguments, self->argument_room * sizeof *self->arguments);
    }
    while (self->byte_count + argument.size > self->byte_room) {
        self->byte_room *= 2;
        self->bytes = memory_resize (self->bytes, self->byte_room);
    }
    if (argument.size)
        memcpy (self->bytes + self->byte_count, argument.data, argument.size);
    self->arguments[self->argument_count++] = (struct argument){self->byte_count, argument.size};
    self->byte_count += argument.size;
    if (self->size)
        self->items[self->size - 1].count++;
}

void batch_columns (struct batch *self, const char *columns)
{
    self->columns = columns;
}

void batch_add_text (struct batch *self, const char *text)
{
    batch_add (self, span_text (text));
}

void batch_add_number (struct batch *self, int64_t number)
{
    char digits[DECIMAL_SIZE];
    size_t size = decimal_text (number, digits);
    batch_add (self, span_of (digits, size));
}

struct batch *batches_item (struct batches *self, uint64_t key, void *owner)
{
    if (self->open && (self->open->size == ITEMS_MAX || self->open->byte_count >= BYTES_MAX))
        batches_send (self);
    struct batch *batch = self->open = self->open ? self->open : batch_new (self);
    batch->items[batch->size++] =
        (struct item){.key = key, .owner = owner, .first = batch->argument_count};
    self->pending++;
    return batch;
}

void batch_may_wait (struct batch *self)
{
    struct item *last = &self->items[self->size - 1];
    self->waiting += !last->may_wait;
    last->may_wait = true;
}

void batch_is_late (struct batch *self)
{
    self->items[self->size - 1].is_late = true;
}

static struct item *find (const struct batches *self, uint64_t key)
{
    for (size_t i = self->open ? self->open->size : 0; i > 0; i--)
        if (self->open->items[i - 1].key == key)
            return &self->open->items[i - 1];
    return NULL;
}

void *batches_find (const struct batches *self, uint64_t key)
{
    const struct item *item = find (self, key);
    return item ? item->owner : NULL;
}

void batches_drop (struct batches *self, uint64_t key)
{
    struct item *item = find (self, key);
    if (!item)
        return;
    self->open->waiting -= item->may_wait;
    *item = self->open->items[--self->open->size];
    self->pending--;
    if (self->open->size)
        return;
    timer_end (&self->timer);
    batch_destroy (self->open);
    self->open = NULL;
}

// -- the call

static void on_answer (void *owner, const redisReply *reply)
{
    struct batch *batch = owner;
    struct batches *self = batch->of;
    self->under_way--;
    self->pending -= batch->size;
    self->kind.answer (self->owner, batch, reply);
    batch_destroy (batch);
}

// Make the arguments of this item that were left for now.
static void fill (struct batches *self, struct batch *batch, struct item *item)
{
    if (!item->is_late)
        return;
    struct item *last = &batch->items[batch->size - 1]; // what is added counts as its own
    size_t before = last->count;
    item->first = batch->argument_count;
    self->kind.late (item->owner, batch);
    last->count = before;
    item->count = batch->argument_count - item->first;
}

static struct span argument_at (const struct batch *batch, size_t place)
{
    const struct argument *argument = &batch->arguments[place];
    return span_of (batch->bytes + argument->offset, argument->size);
}

static size_t lay_out_items (const struct batch *batch, struct span *out)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->size; i++)
        for (size_t k = 0; k < batch->items[i].count; k++)
            out[at++] = argument_at (batch, batch->items[i].first + k);
    return at;
}

static size_t lay_out_columns (const struct batch *batch, const char *columns, struct span *out)
{
    size_t at = 0;
    for (const char *end; *columns; columns = *end ? end + 1 : end) {
        end = strchrnul (columns, '|');
        for (size_t i = 0; i < batch->size; i++)
            for (const char *which = columns; which < end; which++)
                if ((size_t)(*which - '0') < batch->items[i].count)
                    out[at++] = argument_at (batch, batch->items[i].first + (size_t)(*which - '0'));
    }
    return at;
}

// The command before the script. Free what it returns.
static struct span *lay_out_before (const struct batch *batch, size_t *ret_count)
{
    enum { OWN = 3 }; // the command, and the last two arguments
    const struct batch_before *before = &batch->before;
    if (!before->command)
        return NULL;
    struct span *out = memory_new ((OWN + batch->size * strlen (before->columns)) * sizeof *out);
    size_t count = 0;
    out[count++] = span_text (before->command);
    count += lay_out_columns (batch, before->columns, out + count);
    out[count++] = before->last[0];
    out[count++] = before->last[1];
    *ret_count = count;
    return out;
}

void batches_send (struct batches *self)
{
    struct batch *batch = self->open;
    if (!batch)
        return;
    timer_end (&self->timer);
    self->open = NULL;
    self->under_way++;
    size_t items = batch->size, most = 0;
    for (size_t i = 0; i < items; i++) {
        fill (self, batch, &batch->items[i]);
        most += batch->items[i].count;
    }
    size_t first = batch->argument_count;
    size_t keys = self->kind.head (self->owner, batch);
    batch->items[items - 1].count -= batch->argument_count - first; // they are of no item
    size_t count = batch->argument_count - first;
    const char *columns = batch->columns;
    most = columns ? items * strlen (columns) : most;
    struct span *arguments = memory_resize (NULL, (count + most) * sizeof *arguments);
    for (size_t i = 0; i < count; i++)
        arguments[i] = argument_at (batch, first + i);
    count += columns ? lay_out_columns (batch, columns, arguments + count)
                     : lay_out_items (batch, arguments + count);
    size_t before_count = 0;
    struct span *before = lay_out_before (batch, &before_count);
    batch->asked_us = clock_mono_us ();
    link_call (self->link, &(struct link_call){.script = batch->script,
                                               .repeat = self->kind.repeat,
                                               .before = before,
                                               .before_count = before_count,
                                               .keys = keys,
                                               .args = arguments,
                                               .count = count,
                                               .reply = on_answer,
                                               .owner = batch});
    free (before);
    free (arguments);
}

void batches_flush (struct batches *self)
{
    if (self->open &&
        (self->under_way == 0 ||
         (self->under_way < UNDER_WAY_MAX && self->open->size >= ITEMS_MANY)) &&
        !waits (self))
        batches_send (self);
}

// -- life

struct batches *batches_new (const struct batch_kind *kind, struct link *link,
                             struct reactor *reactor, void *owner)
{
    struct batches *self = memory_new (sizeof *self);
    self->kind = *kind;
    self->link = link;
    self->reactor = reactor;
    self->timer = (struct timer){.call = on_patience_over, .owner = self};
    self->owner = owner;
    return self;
}

void batches_destroy (struct batches **self_p)
{
    struct batches *self = *self_p;
    if (!self)
        return;
    timer_end (&self->timer);
    if (self->spare)
        batch_free (self->spare);
    free (self);
    *self_p = NULL;
}

size_t batches_pending (const struct batches *self)
{
    return self->pending;
}

void batch_before (struct batch *self, const struct batch_before *before)
{
    self->before = *before;
    self->script = before->script;
}

enum script batch_script (const struct batch *self)
{
    return self->script;
}

size_t batch_arguments (const struct batch *self, size_t item)
{
    return self->items[item].count;
}

size_t batch_size (const struct batch *self)
{
    return self->size;
}

void *batch_owner (const struct batch *self, size_t item)
{
    return self->items[item].owner;
}

int64_t batch_asked_us (const struct batch *self)
{
    return self->asked_us;
}

struct span batch_argument (const struct batch *self, size_t item, size_t argument)
{
    return argument_at (self, self->items[item].first + argument);
}
