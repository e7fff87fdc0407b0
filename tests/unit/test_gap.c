// What a watcher makes of the seq of each result: scripts of results, and what is to happen.
#include "rows.h"

#include "gap.h"

enum { STEPS_MAX = 8 };

// One thing that happens to the watch.
enum happens { END, BEGIN, RESUME, HEAR, TELL, REACH, ANEW };

struct step {
    enum happens happens;
    int64_t seq;
    const char *epoch;
    enum gap_sort sort; // how the result is classified; the right ones are passed on
    int64_t last;       // afterwards
    int64_t exec_id;    // of the run
};

static const struct script {
    const char *name;
    struct step steps[STEPS_MAX];
} scripts[] = {
    {"one after the other",
     {{BEGIN, 4, "a", 0, 4, 0}, {HEAR, 5, "a", GAP_NEXT, 5, 0}, {HEAR, 6, "a", GAP_NEXT, 6, 0}}},
    {"the first one begins where nothing is known",
     {{HEAR, 7, "a", GAP_NEXT, 7, 0},
      {HEAR, 8, "a", GAP_NEXT, 8, 0},
      {HEAR, 10, "a", GAP_MISSING, 10, 0}}},
    {"one left out",
     {{BEGIN, 4, "a", 0, 4, 0}, {HEAR, 6, "a", GAP_MISSING, 6, 0}, {HEAR, 7, "a", GAP_NEXT, 7, 0}}},
    {"the first one of all left out",
     {{BEGIN, 0, "a", 0, 0, 0}, {HEAR, 2, "a", GAP_MISSING, 2, 0}}},
    {"one that came before",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 0},
      {HEAR, 5, "a", GAP_DUPLICATE, 5, 0}}},
    {"what was published while the watch began is new",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 3, "a", GAP_NEXT, 3, 0},
      {HEAR, 4, "a", GAP_NEXT, 4, 0},
      {HEAR, 4, "a", GAP_DUPLICATE, 4, 0}}},
    {"and one left out of it is missing",
     {{BEGIN, 6, "a", 0, 6, 0}, {HEAR, 3, "a", GAP_NEXT, 3, 0}, {HEAR, 5, "a", GAP_MISSING, 5, 0}}},
    {"where an earlier watch ended nothing before is new",
     {{RESUME, 4, "a", 0, 4, 0},
      {HEAR, 4, "a", GAP_DUPLICATE, 4, 0},
      {HEAR, 6, "a", GAP_MISSING, 6, 0}}},
    {"what the history told first comes again",
     {{RESUME, 4, "a", 0, 4, 0},
      {TELL, 5, "a", 0, 5, 0},
      {TELL, 6, "a", 0, 6, 0},
      {HEAR, 5, "a", GAP_DUPLICATE, 6, 0},
      {HEAR, 6, "a", GAP_DUPLICATE, 6, 0},
      {HEAR, 7, "a", GAP_NEXT, 7, 0}}},
    {"what the history had no run for",
     {{RESUME, 4, "a", 0, 4, 0},
      {TELL, 5, "a", 0, 5, 0},
      {REACH, 6, "a", 0, 6, 0},
      {REACH, 3, "a", 0, 6, 0},
      {HEAR, 7, "a", GAP_NEXT, 7, 0}}},
    {"the same run again",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 55},
      {HEAR, 5, "a", GAP_DUPLICATE, 5, 55}}},
    {"a station that has lost its last result",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 55},
      {HEAR, 5, "a", GAP_REWOUND, 5, 66},
      {HEAR, 6, "a", GAP_NEXT, 6, 77}}},
    {"a station that has lost several",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 0},
      {HEAR, 6, "a", GAP_NEXT, 6, 0},
      {HEAR, 7, "a", GAP_NEXT, 7, 0},
      {HEAR, 5, "a", GAP_REWOUND, 5, 0},
      {HEAR, 6, "a", GAP_NEXT, 6, 0}}},
    {"a station that has lost what the history told",
     {{BEGIN, 4, "a", 0, 4, 0},
      {TELL, 5, "a", 0, 5, 55},
      {HEAR, 6, "a", GAP_NEXT, 6, 66},
      {HEAR, 5, "a", GAP_REWOUND, 5, 77}}},
    {"an earlier watch of an unknown epoch",
     {{RESUME, 4, NULL, 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 0},
      {HEAR, 6, "b", GAP_RESTARTED, 6, 0}}},
    {"without a seq",
     {{HEAR, 0, NULL, GAP_STRAY, 0, 0}, {BEGIN, 4, "a", 0, 4, 0}, {HEAR, 0, "b", GAP_STRAY, 4, 0}}},
    {"without an epoch",
     {{HEAR, 1, NULL, GAP_NEXT, 1, 0},
      {HEAR, 2, NULL, GAP_NEXT, 2, 0},
      {HEAR, 3, "a", GAP_NEXT, 3, 0},
      {HEAR, 4, NULL, GAP_NEXT, 4, 0},
      {HEAR, 4, "a", GAP_DUPLICATE, 4, 0}}},
    {"another epoch, smaller", {{BEGIN, 40, "a", 0, 40, 0}, {HEAR, 3, "b", GAP_RESTARTED, 3, 0}}},
    {"another epoch, the same seq",
     {{BEGIN, 4, "a", 0, 4, 0}, {HEAR, 4, "b", GAP_RESTARTED, 4, 0}}},
    {"another epoch, the next seq",
     {{BEGIN, 4, "a", 0, 4, 0}, {HEAR, 5, "b", GAP_RESTARTED, 5, 0}}},
    {"late ones of the former epoch are no third one",
     {{BEGIN, 40, "a", 0, 40, 0},
      {HEAR, 1, "b", GAP_RESTARTED, 1, 0},
      {HEAR, 41, "a", GAP_STRAY, 1, 0},
      {HEAR, 2, "b", GAP_NEXT, 2, 0},
      {HEAR, 1, "c", GAP_RESTARTED, 1, 0}}},
    {"told by the history first",
     {{BEGIN, 40, "a", 0, 40, 0},
      {ANEW, 0, "b", 0, 0, 0},
      {HEAR, 1, "b", GAP_NEXT, 1, 0},
      {HEAR, 3, "b", GAP_MISSING, 3, 0}}},
    {"after counting anew nothing is from before",
     {{BEGIN, 40, "a", 0, 40, 0},
      {HEAR, 7, "b", GAP_RESTARTED, 7, 0},
      {HEAR, 6, "b", GAP_REWOUND, 6, 0}}},
    {"the largest seq",
     {{BEGIN, INT64_MAX - 1, "a", 0, INT64_MAX - 1, 0},
      {HEAR, INT64_MAX, "a", GAP_NEXT, INT64_MAX, 0},
      {HEAR, INT64_MAX, "a", GAP_DUPLICATE, INT64_MAX, 0}}},
};

// Two connections, as after a takeover: results of one of them are older than those of the other,
// or of the history.
static const struct script of_two[] = {
    {"the last one behind the first of the next station",
     {{BEGIN, 4, "a", 0, 4, 0},
      {TELL, 5, "a", 0, 5, 55},
      {HEAR, 6, "a", GAP_NEXT, 6, 66},
      {HEAR, 5, "a", GAP_DUPLICATE, 6, 55},
      {HEAR, 7, "a", GAP_NEXT, 7, 77}}},
    {"several that were passed on, and that the history told",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 55},
      {TELL, 6, "a", 0, 6, 66},
      {HEAR, 7, "a", GAP_NEXT, 7, 77},
      {HEAR, 5, "a", GAP_DUPLICATE, 7, 55},
      {HEAR, 6, "a", GAP_DUPLICATE, 7, 66}}},
    {"ones without a run",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 0},
      {HEAR, 6, "a", GAP_NEXT, 6, 0},
      {HEAR, 5, "a", GAP_DUPLICATE, 6, 0}}},
    {"a station that has lost its last results is still seen",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 55},
      {HEAR, 6, "a", GAP_NEXT, 6, 66},
      {HEAR, 5, "a", GAP_REWOUND, 5, 99},
      {HEAR, 6, "a", GAP_NEXT, 6, 98},
      {HEAR, 6, "a", GAP_REWOUND, 6, 66}}},
    {"those of another epoch are others",
     {{BEGIN, 4, "a", 0, 4, 0},
      {HEAR, 5, "a", GAP_NEXT, 5, 55},
      {HEAR, 7, "b", GAP_RESTARTED, 7, 77},
      {HEAR, 5, "b", GAP_REWOUND, 5, 55}}},
};

static void take_step (const char *name, struct gap *gap, const struct step *step)
{
    struct gap_mark mark = {step->seq, step->exec_id, step->epoch};
    enum gap_sort sort;
    switch (step->happens) {
    case BEGIN:
        gap_begin (gap, step->seq, step->epoch);
        break;
    case RESUME:
        gap_resume (gap, step->seq, step->epoch);
        break;
    case ANEW:
        gap_restart (gap, step->epoch);
        break;
    case HEAR:
        sort = gap_sort (gap, &mark);
        CHECK_INT (name, sort, step->sort);
        if (sort != GAP_DUPLICATE && sort != GAP_STRAY)
            gap_record (gap, &mark);
        break;
    case TELL:
        gap_record_history (gap, &mark);
        break;
    case REACH:
        gap_skip_to (gap, step->seq, step->epoch);
        break;
    case END:
        break;
    }
    CHECK_INT (name, gap->last, step->last);
}

static void play (const struct script *script, struct gap_seen *seen)
{
    struct gap gap = {.seen = seen};
    for (size_t j = 0; j < STEPS_MAX && script->steps[j].happens != END; j++)
        take_step (script->name, &gap, &script->steps[j]);
}

static void every_result_is_what_its_seq_says (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (scripts); i++)
        play (&scripts[i], NULL);
}

static void of_two_connections_each_result_is_passed_on_once (void **state)
{
    static struct gap_seen seen[GAP_SEEN_MAX];
    (void)state;
    for (size_t i = 0; i < ROWS (of_two); i++) {
        memset (seen, 0, sizeof seen);
        play (&of_two[i], seen);
    }
}

static void what_the_history_tells_is_missed_or_not (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t last, seq, before;
        bool misses;
    } rows[] = {
        {"the next one", 4, 5, 7, true},
        {"the one before what is here", 4, 6, 7, true},
        {"what is here", 4, 7, 7, false},
        {"what came after it", 4, 8, 7, false},
        {"the last one", 4, 4, 7, false},
        {"one from before", 4, 3, 7, false},
        {"one that was not broadcast", 0, 0, 7, false},
        {"nothing is here", 4, 9000, INT64_MAX, true},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct gap gap = {0};
        gap_begin (&gap, rows[i].last, "a");
        CHECK_INT (rows[i].name, gap_is_missed (&gap, rows[i].seq, rows[i].before), rows[i].misses);
    }
}

static void a_station_that_is_further_is_told (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t last;
        const char *epoch;
        bool behind, elsewhere;
    } rows[] = {
        {"the same", 4, "a", false, false},
        {"one more", 5, "a", true, false},
        {"fewer", 3, "a", false, false},
        {"another epoch", 0, "b", true, true},
        {"no epoch, one more", 5, "", true, false},
        {"no epoch", 4, NULL, false, false},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct gap gap = {0};
        gap_begin (&gap, 4, "a");
        CHECK_INT (rows[i].name, gap_is_behind (&gap, rows[i].last, rows[i].epoch), rows[i].behind);
        CHECK_INT (rows[i].name, gap_epoch_differs (&gap, rows[i].epoch), rows[i].elsewhere);
    }
}

static void a_long_epoch_is_cut_the_same_way (void **state)
{
    (void)state;
    struct gap gap = {0};
    char epoch[100];
    memset (epoch, 'e', sizeof epoch);
    epoch[sizeof epoch - 1] = '\0';
    gap_begin (&gap, 4, epoch);
    CHECK_INT ("long", gap_sort (&gap, &(struct gap_mark){5, 0, epoch}), GAP_NEXT);
    CHECK_INT ("other", gap_sort (&gap, &(struct gap_mark){5, 0, "e"}), GAP_RESTARTED);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_result_is_what_its_seq_says),
        cmocka_unit_test (of_two_connections_each_result_is_passed_on_once),
        cmocka_unit_test (what_the_history_tells_is_missed_or_not),
        cmocka_unit_test (a_station_that_is_further_is_told),
        cmocka_unit_test (a_long_epoch_is_cut_the_same_way),
    };
    return cmocka_run_group_tests_name ("gap", tests, NULL, NULL);
}
