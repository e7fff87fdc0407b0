#include "filters.h"

#include "../../src/station/manage_history.c"
#include "fuzz.h"

void fuzz_history (const struct arguments *arguments)
{
    struct history_question question;
    struct reason reason = {""};
    if (!read_question (arguments, &question, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (question.store.limit >= 1 && question.store.limit <= RUNS_MAX);
    HOLDS (question.since >= 0 && question.store.plan_id <= INT64_MAX);
    HOLDS (question.store.seq <= INT64_MAX && question.store.sub <= INT64_MAX);
    HOLDS (strnlen (question.station, sizeof question.station) < sizeof question.station);
    HOLDS (strnlen (question.epoch, sizeof question.epoch) < sizeof question.epoch);
}
