// Converts a job of a crontab to the line of JSON that `zplan add --from` reads. Pure.
#pragma once

#include <jansson.h>

#include "crontab.h"
#include "zone.h"

enum { CRON_PREFIX_MAX = 200 };

// The plan's title: the command, cut to the width of a column.
json_t *cron_plan_title (const char *command);

// PREFIX-HASH: the name depends on the line's text, not on its position. The second of identical
// lines is PREFIX-HASH-2, and so on.
json_t *cron_plan_name (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix);

// The line, to which the caller adds the target and the options.
json_t *cron_plan_line (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix, const char *timezone);

// "2026-12-24T18:00:00+01:00", the local time of this zone.
json_t *cron_plan_time (const struct zone *zone, int64_t time);
