// Drives a core from a script: tests/store/test_pull_model.py compares what it decides on plans
// that workers fetch with what team.lua does. A line is a command and its words, each in hex digits
// ("-" = empty); behind the word "F" stands what was read. The answer: "answer" and words, "row"
// and words of each row, "end".
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_pull.h"
#include "memory.h"

enum { WORDS_MAX = 4096, LINE_MAX_BYTES = 1 << 22, JOBS_MAX = 100 };

static struct core *core;
static int64_t now_us;
static struct core_choice choice;
static char line[LINE_MAX_BYTES];
static struct span words[WORDS_MAX];
static size_t word_count;
static struct core_found found;
static struct span found_team[WORDS_MAX];
static bool has_found;

// -- lines

static unsigned digit (char byte)
{
    return (unsigned)(byte <= '9' ? byte - '0' : byte - 'a' + 10);
}

// In its place.
static struct span decode (char *word)
{
    size_t size = *word == '-' ? 0 : strlen (word) / 2;
    for (size_t i = 0; i < size; i++)
        word[i] = (char)(digit (word[2 * i]) << 4 | digit (word[2 * i + 1]));
    return span_of (word, size);
}

static int64_t number_of (struct span word)
{
    char text[32] = "";
    memcpy (text, word.data, word.size < sizeof text ? word.size : sizeof text - 1);
    return strtoll (text, NULL, 10);
}

static int64_t number (size_t index)
{
    return index < word_count ? number_of (words[index]) : 0;
}

static uint64_t id (size_t index)
{
    char text[32] = "";
    memcpy (text, words[index].data, words[index].size);
    return strtoull (text, NULL, 16);
}

static double real (size_t index)
{
    char text[64] = "";
    memcpy (text, words[index].data, words[index].size);
    return strtod (text, NULL);
}

static void put (struct span word)
{
    if (!word.size)
        fputs (" -", stdout);
    else
        putchar (' ');
    for (size_t i = 0; i < word.size; i++)
        printf ("%02x", word.data[i]);
}

static void put_number (int64_t value)
{
    char text[32];
    snprintf (text, sizeof text, "%" PRId64, value);
    put (span_text (text));
}

static void put_id (uint64_t value)
{
    char text[32];
    snprintf (text, sizeof text, "%" PRIx64, value);
    put (span_text (text));
}

static bool read_line (void)
{
    char *save, *word;
    if (!fgets (line, sizeof line, stdin))
        return false;
    word_count = 0;
    has_found = false;
    size_t first = 0;
    for (word = strtok_r (line, " \n", &save); word && word_count < WORDS_MAX;
         word = strtok_r (NULL, " \n", &save)) {
        if (strcmp (word, "F") == 0) {
            has_found = true;
            first = word_count;
        } else {
            words[word_count] = word_count ? decode (word) : span_text (word);
            word_count++;
        }
    }
    if (!has_found)
        return true;
    found = (struct core_found){.target = words[first],
                                .message = words[first + 1],
                                .score_us = number (first + 2),
                                .report = number (first + 3),
                                .team = found_team,
                                .team_count = word_count - first - 4};
    memcpy (found_team, words + first + 4, found.team_count * sizeof *words);
    word_count = first;
    return true;
}

// -- what the station does besides

static void do_submit (void)
{
    struct core_refusal refusal;
    const struct core_submission submission = {.target = words[1],
                                               .id = id (2),
                                               .message = words[3],
                                               .revision = number (4),
                                               .queued = true,
                                               .due_us = number (5),
                                               .priority = (int)number (6),
                                               .group = words[7],
                                               .caller = span_text ("c:me")};
    put_number (core_submit (core, &submission, now_us, &refusal));
}

static const struct core_wish *wish (void)
{
    static struct core_room room;
    static struct core_wish all;
    room = (struct core_room){.target = span_text ("jobs"), .room = 1000, .fetched = true};
    all = (struct core_wish){
        .limit = 1, .lease_us = 300000000, .rooms = &room, .room_count = 1, .writes = true};
    return &all;
}

static void do_choose (void)
{
    if (core_choose (core, wish (), now_us, &choice, 1) == 0)
        return;
    put (core_choice_target (&choice));
    put_id (core_choice_id (&choice));
    put_number (choice.needs_read);
}

static void do_claim (void)
{
    struct core_taken taken;
    if (word_count > 3 && choice.needs_read) {
        core_found_message (core, &choice, words[1].size ? words[1] : (struct span){0});
        core_found_score (core, &choice, number (2));
        core_found_run (core, &choice, words[3]);
    }
    if (core_take (core, &choice, wish (), now_us, &taken) != CORE_DONE)
        return;
    put_number ((int64_t)taken.exec_id);
    put_number (taken.again);
    put_number ((int64_t)taken.lost);
    put (taken.message);
}

static void do_let_go (void)
{
    core_let_go (core, &choice);
}

static void do_change (void)
{
    const struct core_change change = {.target = words[1],
                                       .id = id (2),
                                       .message = words[3],
                                       .revision = number (4),
                                       .was_revision = number (5),
                                       .exec_id = (uint64_t)number (6),
                                       .place = (int)number (7),
                                       .due_us = number (8),
                                       .priority = (int)number (9),
                                       .group = words[10]};
    put_number (core_change (core, &change, now_us));
}

static void do_commit (void)
{
    struct core_committed committed;
    const struct core_commit commit = {.target = words[1],
                                       .id = id (2),
                                       .exec_id = (uint64_t)number (3),
                                       .end = (enum core_end)number (4),
                                       .queued = true,
                                       .due_us = number (5),
                                       .message = words[6].size ? words[6] : (struct span){0},
                                       .revision = number (7),
                                       .decided_on = -1,
                                       .has_team = true,
                                       .caller = span_text ("c:me")};
    put_number (core_commit (core, &commit, now_us, &committed));
}

static void do_remove (void)
{
    core_remove (core, &(struct core_removal){words[1], id (2), span_text ("c:me")}, now_us);
}

static void do_limit (void)
{
    const struct limit limit = {number (2), real (3), number (4)};
    core_set_limit (core, words[1], limit.concurrency || limit.rate > 0 ? &limit : NULL);
}

// -- loading

static void do_reset (void)
{
    core_reset (core);
    core_load_numbers (core, &(struct core_numbers){.exec_id = (uint64_t)number (1),
                                                    .plans = number (2),
                                                    .classes = true});
}

static void do_run (void)
{
    core_load_run (core, words[1], id (2), words[3]);
}

static void do_class (void)
{
    core_load_class (core, words[1], id (2), words[3]);
}

static void do_tokens (void)
{
    core_load_tokens (core, words[1], real (2));
}

static void do_unread (void)
{
    struct core_team_name names[16];
    size_t count = core_unread_teams (core, names, 16);
    for (size_t i = 0; i < count; i++)
        put_id (names[i].id);
}

static void do_load_team (void)
{
    core_load_team (core, words[1], id (2), &found, now_us);
}

static void do_wants_page (void)
{
    struct core_cursor cursor;
    put_number (core_wants_page (core, now_us, &cursor));
}

static void do_page (void)
{
    static struct core_member members[CORE_PAGE];
    size_t count = 0;
    for (size_t i = 1; i + 3 < word_count && count < CORE_PAGE; i += 4)
        members[count++] = (struct core_member){words[i], id (i + 1), number (i + 2), words[i + 3]};
    core_page (core, members, count, count, now_us);
}

// -- what is tested

static bool put_result (enum core_result result)
{
    static const char *const names[] = {[CORE_DONE] = "done",
                                        [CORE_NONE] = "none",
                                        [CORE_NOT_CURRENT] = "not current",
                                        [CORE_UNREAD] = "unread"};
    put (span_text (names[result]));
    return result == CORE_DONE;
}

static void put_outcome (const struct team_outcome *outcome)
{
    put_number (outcome->complete);
    if (!outcome->complete)
        return;
    put_number (outcome->ended);
    put_number (outcome->failed);
    put (outcome->worker);
    put (outcome->reason);
    put (outcome->result);
}

static void do_offer (void)
{
    struct core_offered offered;
    const struct core_offer offer = {.target = words[1],
                                     .id = id (2),
                                     .exec_id = (uint64_t)number (3),
                                     .stands = number (4) != 0,
                                     .lease_us = number (5),
                                     .found = has_found ? &found : NULL};
    if (!put_result (core_pull_offer (core, &offer, now_us, &offered)))
        return;
    put_number (offered.free);
    put_number (offered.over);
    put_outcome (&offered.outcome);
}

static void do_take (void)
{
    struct core_job jobs[JOBS_MAX];
    struct core_pull_taken taken;
    const struct core_pull_take take = {.target = words[1],
                                        .worker = words[2],
                                        .limit = number (3),
                                        .from = number (4),
                                        .lease_us = number (5),
                                        .alone = number (6) != 0,
                                        .members = words + 7,
                                        .member_count = word_count - 7};
    core_pull_take (core, &take, now_us, jobs, &taken);
    put_number (taken.next);
    put_number (taken.limited);
    put_number (taken.wait_ms);
    for (size_t i = 0; i < taken.count; i++) {
        put_id (jobs[i].id);
        put_number ((int64_t)jobs[i].exec_id);
        put_number (jobs[i].ping_s);
        put_number (jobs[i].timeout_s);
        put (jobs[i].message);
    }
}

static struct core_worker worker_of (void)
{
    return (struct core_worker){.id = id (1),
                                .target = words[2],
                                .worker = words[3],
                                .exec_id = (uint64_t)number (4),
                                .lease_us = number (5),
                                .found = has_found ? &found : NULL};
}

static void do_alive (void)
{
    struct core_alive alive;
    const struct core_worker worker = worker_of ();
    const struct core_sign sign = {.progress = words[6], .release = number (7) != 0};
    if (!put_result (core_pull_alive (core, &worker, &sign, now_us, &alive)))
        return;
    put (span_text (alive.stop ? alive.stop : ""));
    put_number (alive.ping_s);
    put_number (alive.timeout_s);
}

static void do_report (void)
{
    struct core_reported reported;
    const struct core_worker worker = worker_of ();
    const struct core_report report = {.success = number (6) != 0,
                                       .repeat = number (7) != 0,
                                       .reason = words[8],
                                       .result = words[9]};
    char name[REPORT_NAME_SIZE];
    bool done = put_result (core_pull_report (core, &worker, &report, now_us, &reported));
    if (!done) {
        put (span_of (name, core_report_name (&worker, name)));
        return;
    }
    put (span_text (reported.refused ? reported.refused : ""));
    put_number ((int64_t)reported.exec_id);
    put_number (reported.again);
    put (reported.message);
    put_outcome (&reported.outcome);
}

static void do_team (void)
{
    struct core_team team;
    struct team_member member;
    const struct core_worker worker = worker_of ();
    if (!put_result (core_pull_team (core, &worker, now_us, &team)))
        return;
    put_number ((int64_t)team.first_exec_id);
    put_number (team.current);
    for (size_t i = 0; core_team_member (&team, i, &member); i++) {
        put (member.name);
        put (member.state);
        put_number (member.started_ms);
        put_number (member.heard_ms);
        put_number (member.ended_ms);
        put_number ((int64_t)member.exec_id);
        put (member.reason);
        put (member.result);
        put (member.progress);
    }
}

// -- rows

static void put_rows (void)
{
    const struct rows *rows = core_take_rows (core);
    for (int column = 0; column < COLUMNS; column++) {
        const struct column_form *form = &column_forms[column];
        const struct row_list *list = &rows->columns[column];
        for (size_t i = 0; i < list->count; i += form->width) {
            fputs ("\nrow", stdout);
            put (span_text (form->command));
            if (*form->key)
                put (span_text (form->key));
            for (size_t k = 0; k < form->width; k++)
                put (list->at[i + k]);
        }
    }
    const struct span *word = rows->words.at;
    for (size_t i = 0; i < rows->command_count; i++) {
        fputs ("\nrow", stdout);
        for (size_t k = 0; k < rows->commands[i]; k++)
            put (*word++);
    }
}

static void do_batch (void)
{
    put_number (core_has_rows (core));
    if (core_has_rows (core))
        put_rows ();
}

static void do_acked (void)
{
    core_acked (core, now_us);
}

static void do_now (void)
{
    now_us = number (1);
}

static void do_offers (void)
{
    put_number (core_pull_offers (core, words[1]));
}

int main (void)
{
    static const struct command {
        const char *name;
        void (*call) (void);
    } commands[] = {{"now", do_now},        {"submit", do_submit},
                    {"choose", do_choose},  {"claim", do_claim},
                    {"letgo", do_let_go},   {"change", do_change},
                    {"commit", do_commit},  {"limit", do_limit},
                    {"remove", do_remove},  {"reset", do_reset},
                    {"run", do_run},        {"class", do_class},
                    {"tokens", do_tokens},  {"unread", do_unread},
                    {"load", do_load_team}, {"wantspage", do_wants_page},
                    {"page", do_page},      {"offer", do_offer},
                    {"take", do_take},      {"alive", do_alive},
                    {"report", do_report},  {"team", do_team},
                    {"batch", do_batch},    {"acked", do_acked},
                    {"offers", do_offers}};
    core = core_new (&(struct core_bounds){0});
    core_load_numbers (core, &(struct core_numbers){.classes = true});
    while (read_line ()) {
        size_t at = 0, count = sizeof commands / sizeof *commands;
        while (at < count && !span_is (words[0], commands[at].name))
            at++;
        if (at == count)
            abort ();
        fputs ("answer", stdout);
        commands[at].call ();
        fputs ("\nend\n", stdout);
        fflush (stdout);
    }
    core_destroy (&core);
    return 0;
}
