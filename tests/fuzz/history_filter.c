#include "filters.h"

#include "../../src/station/admin/manage_history.c"
#include "fuzz.h"

// The forgotten names must be whole, each with the blank after it.
static void fuzz_forget (struct span text)
{
    struct forget_request forgetting = {0};
    struct reason reason = {""};
    if (read_forgetting (text, &forgetting, &reason)) {
        HOLDS (forgetting.size == strlen (forgetting.entries));
        HOLDS (forgetting.size <= (size_t)ENTRIES_MAX * ENTRY_TEXT_MAX);
        HOLDS (!forgetting.size || forgetting.entries[forgetting.size - 1] == ' ');
        HOLDS (strspn (forgetting.entries, "0123456789-: ") == forgetting.size);
    } else {
        check_reason (&reason);
    }
    free (forgetting.entries);
}

void fuzz_history (const struct request *request)
{
    if (request->arg_count)
        fuzz_forget (request->args[0]);
    struct history_question question;
    struct reason reason = {""};
    if (!read_question (request, &question, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (question.store.limit >= 1 && question.store.limit <= RUNS_MAX);
    HOLDS (question.since >= -1 && question.store.plan_id <= INT64_MAX);
    HOLDS (question.store.seq <= INT64_MAX && question.store.sub <= INT64_MAX);
    HOLDS (strnlen (question.station, sizeof question.station) < sizeof question.station);
    HOLDS (strnlen (question.epoch, sizeof question.epoch) < sizeof question.epoch);
}
