#include "when.h"

static const struct option rows[] = {
    TEXT_OPTION (struct when_words, in, "--in", "DURATION",
                 "once, this long from now: 5s, 90m, 1h30m, 2d"),
    TEXT_OPTION (struct when_words, at, "--at", "INSTANT",
                 "once: 18:00 (the next one), 'tomorrow 8:00', 'fri 8:00', or "
                 "2026-12-24T18:00+01:00; seconds, offset and time are optional"),
    TEXT_OPTION (struct when_words, every, "--every", "DURATION",
                 "again and again: 30s, 10m, 1h30m, 1d"),
    TEXT_OPTION (struct when_words, daily, "--daily", "TIME",
                 "every day at 2:00, or at 8:00,18:30, in --timezone"),
    TEXT_OPTION (struct when_words, weekly, "--weekly", "DAYS[@TIME]",
                 "sun..sat or 0..7, or several: mon,wed-fri; at HH:MM[:SS] in --timezone, else at "
                 "midnight"),
    TEXT_OPTION (struct when_words, monthly, "--monthly", "DAY[@TIME]",
                 "1..31, or several: 1,15; 0 is the last day, -1 the one before it, to -31"),
    TEXTS_OPTION (struct when_words, cron, "--cron", "EXPR",
                  "'30 8 * * MON-FRI', '0 0 L * ?', @daily: minute hour day month weekday, seconds "
                  "may stand in front; again for more times",
                  .utf8 = true),
    TEXT_OPTION (struct when_words, start, "--start", "INSTANT",
                 "no run before this; of --every the first run is at this instant"),
    TEXT_OPTION (struct when_words, repeat, "--repeat", "N|forever",
                 "this many occurrences; default forever"),
    TEXT_OPTION (struct when_words, skip, "--skip", "N", "skip the first N; they use up repeats"),
    FLAG_OPTION (struct when_words, keep, "--keep",
                 "run what was missed, late, instead of skipping it"),
    TEXT_OPTION (struct when_words, timezone, "--timezone", "ZONE",
                 "the plan's zone: it runs at the same local time, summer and winter, and a day of "
                 "--every is one of the calendar; also applies to instants without an offset; "
                 "default UTC"),
    FLAG_OPTION (struct when_words, wall_clock, "--wall-clock",
                 "with --timezone: the plan keeps it, also one of --every 10m or --in"),
    TEXT_OPTION (struct when_words, type, "--type", "TYPE", "the wire's own words: " TYPE_WORDS,
                 .values = TYPE_WORDS, .offered = VALUES_SOME),
    TEXT_OPTION (struct when_words, value, "--value", "N",
                 "with --type: the interval, the weekday, the day of the month"),
    TEXT_OPTION (struct when_words, time, "--time", "INSTANT",
                 "with --type: plan_time; Unix seconds, too"),
};

struct option_group when_options (struct when_words *words)
{
    return (struct option_group){
        "Time (one of --in --at --every --daily --weekly --monthly --cron --type)", rows,
        sizeof rows / sizeof *rows, words};
}
