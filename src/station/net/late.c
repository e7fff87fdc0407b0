#include "late.h"

#include <inttypes.h>
#include <stdlib.h>

#include "log.h"
#include "memory.h"
#include "publish.h"

enum { REMEMBERED_MAX = 1024 };

struct late_runs {
    size_t count; // runs remembered so far; new ones overwrite the oldest
    struct late_run {
        uint64_t plan_id, exec_id;
        char station[STATION_NAME_MAX + 1];
    } at[REMEMBERED_MAX];
};

void late_report (struct station *self, const struct late_answer *answer)
{
    char json[128];
    self->counters.late_answers++;
    log_event (LEVEL_DEBUG, "answer.late", "plan=%" PRIx64 " status=%02x", answer->plan_id,
               answer->status);
    if (self->dialect != DIALECT_ZERONET) // MicroZero's monitor knows no such event
        return;
    snprintf (json, sizeof json,
              "{\"plan_id\":%" PRIu64 ",\"late\":true,\"status\":%u,\"exec_id\":%" PRIu64 "}",
              answer->plan_id, answer->status, answer->exec_id);
    publish_event (self, &(struct notice){.event = ZPLAN_EVENT_RESULT,
                                          .plan_id = answer->plan_id,
                                          .station = answer->station,
                                          .json = json});
}

void late_remember (struct station *self, uint64_t plan_id, uint64_t exec_id, const char *station)
{
    if (!self->late_runs)
        self->late_runs = memory_new (sizeof *self->late_runs);
    struct late_run *run = &self->late_runs->at[self->late_runs->count++ % REMEMBERED_MAX];
    *run = (struct late_run){.plan_id = plan_id, .exec_id = exec_id};
    snprintf (run->station, sizeof run->station, "%s", station);
}

struct span late_find_station (const struct station *self, uint64_t plan_id, uint64_t exec_id)
{
    for (size_t i = 0; self->late_runs && i < REMEMBERED_MAX; i++) {
        const struct late_run *run = &self->late_runs->at[i];
        if (run->plan_id == plan_id && (run->exec_id == exec_id || exec_id == 0))
            return span_text (run->station);
    }
    return (struct span){0};
}

void late_stop (struct station *self)
{
    free (self->late_runs);
    self->late_runs = NULL;
}
