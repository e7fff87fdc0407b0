// zplan status: the station on one screen.
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "doctor.h"
#include "instant.h"
#include "outcomes.h"
#include "plan_words.h"
#include "print.h"
#include "select.h"

enum { SHOWN = 5, FAILED_SHOWN = 10, PLANS_MAX = 10000 };

static const char about[] =
    "Print the station on one screen: whether it is healthy, what runs, what failed since\n"
    "yesterday, what comes next, and its targets. Of next times it looks at 10000 queued plans\n"
    "at most. The exit status is 1 when the station is not healthy: zplan doctor says why.\n\n"
    "  zplan status\n"
    "  zplan status --json | jq .failed\n";

struct status {
    json_t *running, *failed, *next, *targets;
    json_t *health;
    int64_t since_ms;
};

// -- the questions

static bool take_running (void *owner, const json_t *plan)
{
    struct status *self = owner;
    json_array_append (self->running, (json_t *)(uintptr_t)plan);
    return true;
}

// The soonest few, in order.
static bool take_next (void *owner, const json_t *plan)
{
    struct status *self = owner;
    size_t at = json_array_size (self->next);
    json_int_t time = json_integer_value (json_object_get (plan, "plan_time"));
    while (at > 0 && json_integer_value (
                         json_object_get (json_array_get (self->next, at - 1), "plan_time")) > time)
        at--;
    if (at < SHOWN)
        json_array_insert (self->next, at, (json_t *)(uintptr_t)plan);
    if (json_array_size (self->next) > SHOWN)
        json_array_remove (self->next, SHOWN);
    return true;
}

static bool take_failed (struct pages *pages, const json_t *page)
{
    struct status *self = pages->owner;
    size_t i;
    json_t *run;
    json_array_foreach (json_object_get (page, "runs"), i, run)
    {
        double ended_ms = json_number_value (json_object_get (run, "ended")) * 1000;
        const char *word =
            outcome_word ((int)(json_integer_value (json_object_get (run, "status")) & UINT8_MAX));
        bool failed = strcmp (word, "failed") == 0 || strcmp (word, "lost") == 0;
        bool old = ended_ms < (double)self->since_ms;
        // What was restored has no seq, and stands in front of newer ones.
        bool last = old && json_integer_value (json_object_get (run, "seq"));
        if (last || json_array_size (self->failed) == FAILED_SHOWN)
            return false;
        if (failed && !old)
            json_array_append (self->failed, run);
    }
    return true;
}

// While Redis is away only the health is known.
static int ask (struct status *self, const struct cli *cli, struct zplan_client *client)
{
    int code;
    int64_t since;
    struct zplan_reply reply;
    self->health = call_words (cli, client, (const char *[]){"health", NULL}, NULL, &code);
    if (!self->health)
        return code;
    int outcome = zplan_client_manage (client, "stats", NULL, 0, &reply);
    json_t *stats =
        call_verdict (cli, outcome, &reply).code == EXIT_DONE ? call_json (&reply) : NULL;
    if (stats) {
        doctor_find_work (cli, client, self->health, stats);
        json_array_extend (self->targets, json_object_get (stats, "targets"));
        instant_since ("yesterday", look_now ()->now, &since);
        self->since_ms = since * 1000;
        struct pages pages = {.word = "history",
                              .filter = json_pack ("{s:b}", "newest", 1),
                              .room = INT64_MAX,
                              .take = take_failed,
                              .owner = self};
        struct verdict verdict = pages_turn (cli, client, &pages);
        json_decref (pages.filter);
        if (verdict.code == EXIT_DONE)
            verdict = select_walk (
                cli, client, &(struct selection){.state = "running"},
                &(struct selected){.take = take_running, .owner = self, .room = FAILED_SHOWN});
        if (verdict.code == EXIT_DONE)
            verdict = select_walk (
                cli, client, &(struct selection){.state = "queued"},
                &(struct selected){.take = take_next, .owner = self, .room = PLANS_MAX});
        json_decref (stats);
        if (verdict.code != EXIT_DONE)
            return verdict_tell (&verdict, NULL);
    }
    return json_is_true (json_object_get (self->health, "healthy")) ? EXIT_DONE : EXIT_REFUSED;
}

// -- the screen

static void print_health (const struct status *self)
{
    const json_t *findings = json_object_get (self->health, "findings");
    bool healthy = json_is_true (json_object_get (self->health, "healthy"));
    colour_on (stdout, healthy ? GREEN : RED);
    fputs (healthy ? "healthy" : "not healthy", stdout);
    colour_off (stdout, healthy ? GREEN : RED);
    if (json_array_size (findings) > 0) {
        fputs (": ", stdout);
        print_bytes (text_of (json_object_get (json_array_get (findings, 0), "text")));
        fputs ("; see zplan doctor", stdout);
    }
    putchar ('\n');
}

// Behind the name; nothing where it is empty.
static void print_title (const json_t *title)
{
    if (!json_is_string (title) || json_string_length (title) > 0) {
        fputs (" \"", stdout);
        print_frame (title);
        putchar ('"');
    }
}

static void print_plans (const char *heading, const json_t *plans, const char *before,
                         const char *field)
{
    size_t i;
    const json_t *plan;
    char word[WORD_SIZE];
    if (json_array_size (plans) > 0)
        puts (heading);
    json_array_foreach (plans, i, plan)
    {
        fputs ("  ", stdout);
        write_plan_name (stdout, plan);
        print_title (json_object_get (plan, "description"));
        printf (", %s%s, target ", before, time_word (json_object_get (plan, field), word));
        print_bytes (text_of (json_object_get (plan, "station")));
        if (json_object_get (plan, "progress")) {
            fputs (", ", stdout);
            print_frame (json_object_get (plan, "progress"));
        }
        putchar ('\n');
    }
}

static void print_failed (const struct status *self)
{
    size_t i;
    const json_t *run;
    char word[WORD_SIZE];
    if (json_array_size (self->failed) > 0)
        puts ("Failed since yesterday:");
    json_array_foreach (self->failed, i, run)
    {
        fputs ("  ", stdout);
        print_bytes (text_of (json_object_get (run, "plan")));
        print_title (json_object_get (run, "title"));
        printf (", %s", time_word (json_object_get (run, "ended"), word));
        write_reason (stdout, ": ", run);
        putchar ('\n');
    }
}

static void print_screen (const struct status *self)
{
    size_t i;
    const json_t *target;
    print_health (self);
    print_plans ("Running:", self->running, "since ", "exec_time");
    print_failed (self);
    print_plans ("Next:", self->next, "", "plan_time");
    bool known = json_array_size (self->targets) > 0; // not while Redis is away
    if (known && json_array_size (self->running) + json_array_size (self->next) == 0)
        puts ("No plan is queued: zplan add --help");
    if (json_array_size (self->targets) > 0)
        puts ("Targets:");
    json_array_foreach (self->targets, i, target)
    {
        fputs ("  ", stdout);
        print_bytes (text_of (json_object_get (target, "name")));
        puts (json_is_true (json_object_get (target, "connected")) ? ", connected" : ", away");
    }
}

static json_t *named (enum json_kind kind, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_t *names = json_array ();
    json_array_foreach (list, i, item) json_array_append_new (names, json_names (kind, item));
    return names;
}

static void print_object (const struct cli *cli, const struct status *self)
{
    bool wire = strcmp (cli->json, "wire") == 0;
    json_t *object = json_object ();
    json_object_set_new (object, "healthy",
                         json_boolean (json_is_true (json_object_get (self->health, "healthy"))));
    json_object_set (object, "findings", json_object_get (self->health, "findings"));
    json_object_set_new (object, "running",
                         wire ? json_incref (self->running) : named (JSON_PLAN, self->running));
    json_object_set_new (object, "failed",
                         wire ? json_incref (self->failed) : named (JSON_RUN, self->failed));
    json_object_set_new (object, "coming",
                         wire ? json_incref (self->next) : named (JSON_PLAN, self->next));
    json_object_set_new (object, "targets",
                         wire ? json_incref (self->targets) : named (JSON_TARGET, self->targets));
    print_json (object);
    json_decref (object);
}

int verb_status (const struct cli *cli)
{
    int code;
    struct zplan_client *client = call_begin (cli, "zplan status", about, &code);
    if (!client)
        return code;
    struct status self = {json_array (), json_array (), json_array (), json_array (), NULL, 0};
    code = ask (&self, cli, client);
    if (self.health && cli->json)
        print_object (cli, &self);
    else if (self.health)
        print_screen (&self);
    json_decref (self.running);
    json_decref (self.failed);
    json_decref (self.next);
    json_decref (self.targets);
    json_decref (self.health);
    zplan_client_destroy (&client);
    return code;
}
