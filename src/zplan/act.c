#include "act.h"

#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "json.h"
#include "memory.h"
#include "print.h"

// -- the plans

void plan_ids_add (struct plan_ids *self, uint64_t id)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 64;
        self->at = memory_resize (self->at, self->room * sizeof *self->at);
    }
    self->at[self->count++] = id;
}

int plan_ids_read (struct plan_ids *self, const struct cli *cli, int count, struct reason *reason)
{
    for (int i = 1; i <= count; i++) {
        char text[PLAN_ID_SIZE];
        uint64_t id;
        if (call_plan_id (cli->argv[i], text, reason) || !ident_parse (span_text (text), &id))
            return -1;
        plan_ids_add (self, id);
    }
    return 0;
}

// -- one plan

int act_refused (struct acting *self, const char *id, const struct verdict *verdict)
{
    progress_clear (&self->progress);
    self->refused += verdict->code == EXIT_REFUSED;
    self->stopped = verdict->code == EXIT_NO_ANSWER || verdict_is_common (verdict);
    if (self->cli->json && verdict->code == EXIT_REFUSED) {
        json_t *answer = json_pack ("{s:s}", "id", id);
        json_object_set_new (answer, "refused",
                             json_from_frame (span_of (verdict->words, verdict->size)));
        print_json (answer);
        json_decref (answer);
    }
    return verdict_tell (verdict, id);
}

static void report (const struct acting *self, const char *id, const struct zplan_reply *reply)
{
    struct reason reason;
    json_t *answer = NULL;
    if (self->cli->json || self->tell)
        answer = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
    if (!self->cli->json) {
        printf ("plan %s %s", id, self->done);
        if (self->tell)
            self->tell (answer, NULL);
        putchar ('\n');
        fflush (stdout); // who is stopped in the middle is to have said what is done
        json_decref (answer);
        return;
    }
    json_t *object = json_pack ("{s:s, s:s}", "id", id, "done", self->name);
    if (self->tell)
        self->tell (answer, object);
    else if (answer)
        json_object_set_new (object, "plan", plan_object (answer));
    print_json (object);
    json_decref (object);
    json_decref (answer);
}

void act_already (struct acting *self, const char *id)
{
    self->already++;
    if (!self->cli->json)
        return; // the sum tells how many
    json_t *answer = json_pack ("{s:s, s:s}", "id", id, "already", self->name);
    print_json (answer);
    json_decref (answer);
}

int act_say (struct acting *self, const char *id, const char *argument)
{
    struct zplan_reply reply;
    const char *args[] = {id, argument};
    int outcome = zplan_client_manage (self->client, self->name, args, argument ? 2 : 1, &reply);
    struct verdict verdict = call_verdict (self->cli, outcome, &reply);
    if (verdict.code == EXIT_DONE) {
        report (self, id, &reply);
        self->count++;
        return EXIT_DONE;
    }
    if (self->selected && self->gone_is_wanted && verdict.status == ZERO_STATUS_NOT_FIND_ID) {
        act_already (self, id);
        return EXIT_DONE;
    }
    int code = act_refused (self, id, &verdict);
    if (code == EXIT_NO_ANSWER)
        fprintf (stderr, "zplan: it is not known whether plan %s was %s\n", id, self->done);
    return code;
}

json_t *act_read (struct acting *self, const char *id, int *ret_code)
{
    struct zplan_reply reply;
    int outcome = zplan_client_manage (self->client, "message", (const char *[]){id}, 1, &reply);
    struct verdict verdict = call_verdict (self->cli, outcome, &reply);
    struct reason reason;
    json_t *plan = NULL;
    if (verdict.code == EXIT_DONE) {
        plan = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &reason);
        if (!plan)
            verdict = verdict_refused (reason.text);
    }
    if (!plan)
        *ret_code = act_refused (self, id, &verdict);
    return plan;
}

// -- all of them

int act_each (struct acting *self, const struct plan_ids *ids)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < ids->count; i++) {
        char id[IDENT_SIZE];
        int one = self->one (self, ident_text (ids->at[i], id));
        if (one != EXIT_DONE)
            code = one;
        size_t left = ids->count - 1 - i;
        if (self->stopped && left > 0)
            fprintf (stderr, "zplan: not tried after that: %zu more\n", left);
        if (self->stopped)
            break;
        progress_step (&self->progress, i + 1, ids->count);
    }
    progress_clear (&self->progress);
    return code;
}
