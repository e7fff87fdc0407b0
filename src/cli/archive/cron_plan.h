// Converts a job of a crontab to the line of JSON that `zplan add --from` reads. Pure.
#pragma once

#include <jansson.h>

#include "crontab.h"
#include "zone.h"

enum { CRON_PREFIX_MAX = 200 };

// The plan's title: the command, cut to the width of a column.
json_t *cron_plan_title (const char *command);

// The plan's name, PREFIX-HASH: it depends on the line's text, not on its position. The second of
// identical lines is PREFIX-HASH-2, and so on.
json_t *cron_plan_name (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix);

// The job as an object, to which the caller adds the target and the options.
json_t *cron_plan_line (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix, const char *timezone);

// Unix seconds as local time of this zone: "2026-12-24T18:00:00+01:00".
json_t *cron_plan_time (const struct zone *zone, int64_t time);
