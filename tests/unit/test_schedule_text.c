// Schedules of plans, as the command line prints them.
#include "rows.h"

#include <jansson.h>

#include "schedule_text.h"

static const struct row {
    const char *plan, *text;
} rows[] = {
    {"{\"plan_type\": 0}", "once"},
    {"{\"plan_type\": 1, \"base_time\": 1705305600}", "once"},
    {"{\"plan_type\": 2, \"plan_value\": 5}", "every 5 s"},
    {"{\"plan_type\": 2, \"plan_value\": 0}", "without a pause"},
    {"{\"plan_type\": 3, \"plan_value\": 10}", "every 10 min"},
    {"{\"plan_type\": 4, \"plan_value\": 1}", "every 1 h"},
    {"{\"plan_type\": 5, \"plan_value\": 1}", "every day"},
    {"{\"plan_type\": 5, \"plan_value\": 2}", "every 2 days"},
    {"{\"plan_type\": 5, \"plan_value\": 2, \"base_time\": 1705305660, \"timezone\": \"UTC\"}",
     "every 2 days at 08:01 UTC"},
    {"{\"plan_type\": 3, \"plan_value\": 0, \"cycle\": [2, 1]}", "every 2, 1 min in turn"},
    {"{\"plan_type\": 6, \"plan_value\": 0}", "Sun 00:00"},
    {"{\"plan_type\": 6, \"plan_value\": 1, \"base_time\": 1705305601}", "Mon 08:00:01"},
    {"{\"plan_type\": 7, \"plan_value\": 1, \"base_time\": 1705305600, \"timezone\": \"UTC\"}",
     "monthly on day 1 at 08:00 UTC"},
    {"{\"plan_type\": 7, \"plan_value\": 0}", "monthly on the last day at 00:00"},
    {"{\"plan_type\": 7, \"plan_value\": -1}", "monthly 1 day before the last at 00:00"},
    {"{\"plan_type\": 7, \"plan_value\": -3}", "monthly 3 days before the last at 00:00"},
    {"{\"plan_type\": 8, \"cron\": \"0 2 * * *\", \"timezone\": \"Europe/Berlin\"}",
     "daily 02:00 Europe/Berlin"},
    {"{\"plan_type\": 8, \"cron\": [\"0 8 * * *\", \"30 18 * * *\"]}", "daily 08:00, 18:30"},
    {"{\"plan_type\": 8, \"cron\": \"30 8 * * 1,5\"}", "Mon, Fri 08:30"},
    {"{\"plan_type\": 8, \"cron\": \"30 8 * * MON-FRI\"}", "Mon-Fri 08:30"},
    {"{\"plan_type\": 8, \"cron\": \"0 8 * * 0,6\"}", "Sat, Sun 08:00"},
    {"{\"plan_type\": 8, \"cron\": \"15 30 8 * * 0,1,6\"}", "Mon, Sat, Sun 08:30:15"},
    {"{\"plan_type\": 8, \"cron\": \"0 6 1 * *\"}", "monthly on day 1 at 06:00"},
    {"{\"plan_type\": 8, \"cron\": \"0 6 1,15 * *\"}", "monthly on days 1,15 at 06:00"},
    {"{\"plan_type\": 8, \"cron\": \"0 6 1 * 1\"}", "cron 0 6 1 * 1"},
    {"{\"plan_type\": 8, \"cron\": \"0 6 L * *\"}", "cron 0 6 L * *"},
    {"{\"plan_type\": 8, \"cron\": \"*/5 * * * *\"}", "cron */5 * * * *"},
    {"{\"plan_type\": 8, \"cron\": \"0 24 * * *\"}", "cron 0 24 * * *"},
    {"{\"plan_type\": 8, \"cron\": \"0 2 * 3 *\"}", "cron 0 2 * 3 *"},
    {"{\"plan_type\": 8, \"cron\": \"@daily\"}", "cron @daily"},
    {"{\"plan_type\": 8, \"cron\": [\"0 8 * * *\", \"0 9 * * 1\"]}", "cron 0 8 * * * ..."},
    {"{\"plan_type\": 8, \"cron\": [7]}", "cron -"},
    {"{\"plan_type\": 8}", "cron -"},
    {"{\"plan_type\": 99}", "-"},
    {"{}", "-"},
};

static void texts (void **state)
{
    struct zone *utc = zone_new_utc ();
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char out[SCHEDULE_TEXT_SIZE];
        json_t *plan = json_loads (rows[i].plan, 0, NULL);
        CHECK_TEXT (rows[i].plan, schedule_text (plan, utc, out), rows[i].text);
        json_decref (plan);
    }
    zone_destroy (&utc);
}

static void without_a_zone (void **state)
{
    char out[SCHEDULE_TEXT_SIZE];
    json_t *plan =
        json_loads ("{\"plan_type\": 6, \"plan_value\": 1, \"base_time\": 1705305600}", 0, NULL);
    (void)state;
    CHECK_TEXT ("week", schedule_text (plan, NULL, out), "Mon");
    json_decref (plan);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (texts), cmocka_unit_test (without_a_zone)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
