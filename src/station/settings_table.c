#include "settings_table.h"

#include "context.h"
#include "log.h"

static int copy_part (struct span part, const char *what, char *out, struct reason *reason)
{
    const size_t size = sizeof ((struct target_settings *)0)->endpoint;
    if (part.size == 0 || part.size >= size) {
        reason_set (reason, "stations: %s: want 1..%zu bytes", what, size - 1);
        return -1;
    }
    memcpy (out, part.data, part.size);
    out[part.size] = '\0';
    return 0;
}

// The text up to the separator, which is passed over; the whole rest when there is none.
static struct span cut (const char **text, char separator)
{
    const char *start = *text;
    const char *end = strchr (start, separator);
    *text = end ? end + 1 : start + strlen (start);
    return span_of (start, end ? (size_t)(end - start) : strlen (start));
}

static int check_option (struct span option, struct reason *reason)
{
    if (span_is (option, "dialect=zeronet") || span_is (option, "mailbox=frame"))
        return 0;
    reason_set (reason, "stations: want dialect=zeronet or mailbox=frame, got %s", quoted (option));
    return -1;
}

static int parse_station (const char *text, struct target_settings *target, struct reason *reason)
{
    char type[sizeof target->endpoint];
    const char *rest = text;
    struct span name = cut (&rest, '=');
    if (!station_name_valid (name) || !*rest || !strchr (rest, '@')) {
        reason_set (reason,
                    "stations: want NAME=TYPE@ENDPOINT, NAME of 1..64 A-Z a-z 0-9 _ . -, got %s",
                    quoted (span_text (text)));
        return -1;
    }
    memcpy (target->name, name.data, name.size);
    target->name[name.size] = '\0';
    if (copy_part (cut (&rest, '@'), "type", type, reason))
        return -1;
    int number = target_type_parse (type);
    if (number < 0 || number == TARGET_VOTE) {
        reason_set (reason, "stations: %s: want the type api or pub, got %s", target->name,
                    quoted (span_text (type)));
        return -1;
    }
    target->type = (enum target_type)number;
    if (copy_part (cut (&rest, ','), "endpoint", target->endpoint, reason) ||
        endpoint_check (target->endpoint, reason))
        return -1;
    while (*rest)
        if (check_option (cut (&rest, ','), reason))
            return -1;
    return 0;
}

// A name that is there already is overridden: the command line wins over the file.
static int add_station (void *values, const char *text, struct reason *reason)
{
    struct station_settings *self = values;
    struct target_settings target;
    size_t at = 0;
    if (parse_station (text, &target, reason))
        return -1;
    while (at < self->target_count && strcmp (self->targets[at].name, target.name) != 0)
        at++;
    if (at == TARGETS_MAX) {
        reason_set (reason, "stations: at most %d", TARGETS_MAX);
        return -1;
    }
    self->targets[at] = target;
    self->target_count += at == self->target_count;
    return 0;
}

#define FIELD(name) offsetof (struct station_settings, name)

static const struct setting rows[] = {
    {"request", "--request", "ENDPOINT", "tcp://127.0.0.1:7920", SETTING_TEXT, FIELD (request), 0,
     0, NULL, "where clients send plans and targets send results"},
    {"publish", "--publish", "ENDPOINT", "tcp://127.0.0.1:7921", SETTING_TEXT, FIELD (publish), 0,
     0, NULL, "where results are broadcast"},
    {"events", "--events", "ENDPOINT", "tcp://127.0.0.1:7922", SETTING_TEXT, FIELD (events), 0, 0,
     NULL, "where events are broadcast"},
    {"redis_addr", "--redis", "ADDR", "embedded", SETTING_TEXT, FIELD (redis_addr), 0, 0, NULL,
     "embedded, HOST:PORT[:PASSWORD] or unix:PATH"},
    {"redis_defdb", "--redis-db", "N", "0", SETTING_NUMBER, FIELD (redis_defdb), 0, 1023, NULL,
     "the Redis database that holds the plans"},
    {"accept_loss", "--accept-loss", NULL, "0", SETTING_FLAG, FIELD (accept_loss), 0, 0, NULL,
     "take a Redis that may lose or evict plans"},
    {"data", "--data", "DIR", "", SETTING_TEXT, FIELD (data), 0, 0, NULL,
     "the folder of the embedded Redis [$XDG_STATE_HOME/zplan]"},
    {"stations", "--station", "NAME=TYPE@ENDPOINT", NULL, SETTING_LIST, 0, 0, 0, add_station,
     "a target station; TYPE is api or pub; repeatable"},
    {"plan_exec_timeout", "--exec-timeout", "SECONDS", "300", SETTING_NUMBER,
     FIELD (exec_timeout_s), 1, 31536000, NULL,
     "a run without a sign of life is sent again after this"},
    {"plan_send_timeout", "--send-timeout", "MS", "3000", SETTING_NUMBER, FIELD (send_timeout_ms),
     10, 3600000, NULL, "a target that gives no status within this has failed"},
    {"dialect", "--dialect", "NAME", "zeronet", SETTING_TEXT, FIELD (dialect), 0, 0, NULL,
     "the numbers of the request and publish sockets: zeronet"},
    {"timezone", "--timezone", "NAME", "UTC", SETTING_TEXT, FIELD (timezone), 0, 0, NULL,
     "the zone that times of day are read in"},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
};

const struct setting_table station_setting_table = {rows, sizeof rows / sizeof *rows};

int station_settings_check (const struct station_settings *self, struct reason *reason)
{
    enum log_level level;
    if (strcmp (self->dialect, "zeronet") != 0) {
        reason_set (reason, "dialect: want zeronet, got %s", quoted (span_text (self->dialect)));
        return -1;
    }
    if (!log_level_parse (self->log_level, &level)) {
        reason_set (reason, "log_level: want error, warn, info or debug, got %s",
                    quoted (span_text (self->log_level)));
        return -1;
    }
    return 0;
}
