// The plan of a line of a crontab, as the line of JSON that `zplan add --from` takes. Pure.
#pragma once

#include <jansson.h>

#include "crontab.h"
#include "zone.h"

enum { CRON_PREFIX_MAX = 200 };

// The command, cut to what a column takes.
json_t *cron_plan_title (const char *command);

// PREFIX-HASH: the same line has the same name wherever it stands. Of lines that are the same each
// has its own: the second is PREFIX-HASH-2.
json_t *cron_plan_name (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix);

// The line; its target and options are the caller's to add.
json_t *cron_plan_line (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix, const char *timezone);

// "2026-12-24T18:00:00+01:00", by the clock of this zone.
json_t *cron_plan_time (const struct zone *zone, int64_t time);
