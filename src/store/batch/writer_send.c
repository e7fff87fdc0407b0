// What the writer sends: reads of the owner, takeovers, batches.
#include <stdio.h>

#include "scripts.h"
#include "writer_private.h"

// Add a check: watch the owner's key, and read token and batch number.
static void add_watch_and_read (struct writer *self)
{
    ADD (&self->sent, TEXT ("WATCH"),
         TEXT (PLANTED (TOKEN_WATCHED) ? KEY_PLANTED_TOKEN : KEY_OWNER));
    ADD (&self->sent, TEXT ("HMGET"), TEXT (KEY_OWNER), TEXT ("token"), TEXT ("batch"));
}

// Send the collected commands, and reset what is known of their answers.
static void send_collected (struct writer *self)
{
    self->answered = 0;
    self->refused = OWNER_NOT_REFUSED;
    self->unwatched = false;
    self->awaited = self->sent.commands;
    self->failure_count = 0;
    self->io.send (self->io.owner, &self->sent);
    commands_clear (&self->sent);
}

static void send_check (struct writer *self)
{
    self->exec_at = SIZE_MAX;
    // The WATCH of the last check is still active: without UNWATCH, a batch that the owner wrote
    // since would make a takeover fail.
    ADD (&self->sent, TEXT ("UNWATCH"));
    add_watch_and_read (self);
    send_collected (self);
}

// Add the batch as a script. Redis rejects MULTI while its memory is full, but lets this script
// write; the script itself checks that token and batch are unchanged, in place of WATCH.
static void add_script_call (struct writer *self, const struct commands *owner)
{
    int64_t batch;
    struct commands *sent = &self->sent;
    const char *found = owner_found_token (self->owner, &batch);
    ADD (sent, TEXT ("EVAL"),
         span_of (script_texts[SCRIPT_ROWS].text, script_texts[SCRIPT_ROWS].size), TEXT ("1"),
         TEXT (KEY_OWNER), span_text (found), *found ? commands_number (sent, batch) : TEXT (""));
    const struct commands *const parts[] = {&self->rows, owner};
    for (int i = 0; i < 2; i++) {
        const struct span *word = parts[i]->words;
        for (size_t k = 0; k < parts[i]->commands; word += parts[i]->sizes[k++]) {
            commands_add_word (sent, commands_number (sent, (int64_t)parts[i]->sizes[k]));
            for (size_t n = 0; n < parts[i]->sizes[k]; n++)
                commands_add_word (sent, word[n]);
        }
    }
    self->exec_at = 0;
}

// Send the rows, followed by the commands in `owner` for plan:owner, as one transaction.
static void send_transaction (struct writer *self, struct commands *owner, int64_t mono_us)
{
    if (PLANTED (PX_LEASE))
        ADD (owner, TEXT ("PEXPIRE"), TEXT (KEY_OWNER), TEXT ("2000"));
    ADD (owner, TEXT ("TIME"));
    self->asked_us = mono_us;
    if (owner_uses_script (self->owner)) {
        add_script_call (self, owner);
    } else {
        ADD (&self->sent, TEXT ("MULTI"));
        commands_add_all (&self->sent, &self->rows);
        commands_add_all (&self->sent, owner);
        self->exec_at = self->sent.commands;
        ADD (&self->sent, TEXT ("EXEC"));
    }
    add_watch_and_read (self);
    send_collected (self);
}

// Write the record of the owner: this station's token, name, endpoints and key.
static void send_takeover (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    const char *token = owner_token (self->owner);
    commands_clear (&self->rows);
    self->io.taking (self->io.owner, token);
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("token"), span_text (token), TEXT ("batch"),
         TEXT ("0"), TEXT ("name"), span_text (self->name), TEXT ("endpoints"),
         span_text (self->endpoints), TEXT ("key"), span_text (self->key));
    if (PLANTED (TOKEN_WATCHED))
        ADD (&owner, TEXT ("HSET"), TEXT (KEY_PLANTED_TOKEN), TEXT ("token"), span_text (token));
    send_transaction (self, &owner, mono_us);
    commands_free (&owner);
}

// Take the core's rows for a new batch. A batch whose answer was lost is resent unchanged.
static void send_rows (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    bool is_new = owner_batch (self->owner) != self->number;
    self->number = owner_batch (self->owner);
    if (is_new && !self->rows.commands && core_has_rows (self->core)) {
        const struct rows *rows = core_close_batch (self->core);
        self->has_rows = true;
        self->kinds = rows->kinds;
        commands_of_rows (&self->rows, rows, self->outcomes);
        self->in_flight = self->gathering;
        if (!self->in_flight.first)
            self->in_flight.end = NULL;
        self->gathering = (struct waiter_list){0};
        self->urgent = false;
        self->delayed_since_us = 0;
    }
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("batch"),
         commands_number (&owner, self->number));
    send_transaction (self, &owner, mono_us);
    commands_free (&owner);
}

// Replace the token by one that marks the database as released.
static void send_release (struct writer *self, int64_t mono_us)
{
    struct commands owner = {0};
    char released[OWNER_TOKEN_SIZE];
    const char *token = owner_token (self->owner);
    snprintf (released, sizeof released, "%.*s.free", (int)strcspn (token, "."), token);
    commands_clear (&self->rows);
    ADD (&owner, TEXT ("HSET"), TEXT (KEY_OWNER), TEXT ("token"), span_text (released));
    send_transaction (self, &owner, mono_us);
    commands_free (&owner);
}

void writer_send_todo (struct writer *self, int64_t mono_us)
{
    enum owner_action todo = self->todo;
    self->todo = OWNER_WAIT;
    switch (todo) {
    case OWNER_WAIT:
        return;
    case OWNER_OPEN:
        self->io.open (self->io.owner,
                       *self->refusal ? self->refusal : "another Redis is the master");
        return;
    case OWNER_CHECK:
        send_check (self);
        return;
    case OWNER_TAKE:
        send_takeover (self, mono_us);
        return;
    case OWNER_SEND:
        send_rows (self, mono_us);
        return;
    case OWNER_RELEASE:
        send_release (self, mono_us);
        return;
    }
}
