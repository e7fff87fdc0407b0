#include "cron_plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "civil.h"
#include "utf8.h"

enum { TITLE_MAX = 72, LOCAL_SIZE = 40 };

json_t *cron_plan_title (const char *command)
{
    char text[TITLE_MAX + 4];
    struct span cut = utf8_cut (span_text (command), TITLE_MAX);
    snprintf (text, sizeof text, "%.*s%s", (int)cut.size, command, command[cut.size] ? "..." : "");
    return json_string (text);
}

json_t *cron_plan_name (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix)
{
    int same = 1;
    char text[CRON_PREFIX_MAX + 32], number[16] = "";
    for (const struct crontab_job *other = crontab->jobs; other < job; other++)
        same += strcmp (other->digest, job->digest) == 0;
    if (same > 1)
        snprintf (number, sizeof number, "-%d", same);
    snprintf (text, sizeof text, "%.*s-%s%s", CRON_PREFIX_MAX, prefix, job->digest, number);
    return json_string (text);
}

json_t *cron_plan_line (const struct crontab *crontab, const struct crontab_job *job,
                        const char *prefix, const char *timezone)
{
    return json_pack ("{s:s, s:[s, s*], s:o, s:o, s:s, s:s}", "command", "sh", "arg", job->script,
                      job->input, "title", cron_plan_title (job->command), "name",
                      cron_plan_name (crontab, job, prefix), "cron", job->times, "timezone",
                      timezone);
}

json_t *cron_plan_time (const struct zone *zone, int64_t time)
{
    char text[LOCAL_SIZE];
    int32_t offset = zone_offset (zone, time), minutes = abs (offset) / 60;
    int64_t local = time + offset, second = civil_time_of_day (local);
    struct civil_date date = civil_date (civil_day_of (local));
    snprintf (text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", (int)date.year,
              date.month, date.day, (int)(second / 3600), (int)(second / 60 % 60),
              (int)(second % 60), offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
    return json_string (text);
}
