#include "settings_table.h"

#include "json.h"
#include "log.h"
#include "socket.h"

// A later target of the same name replaces the earlier one: the command line wins over the file.
static int add_target (void *values, const char *text, struct reason *reason)
{
    struct station_settings *self = values;
    struct target_settings target = {.origin = ORIGIN_SETTINGS};
    size_t at = 0;
    if (target_settings_parse (text, &target, reason))
        return -1;
    while (at < self->target_count && strcmp (self->targets[at].name, target.name) != 0)
        at++;
    if (at == TARGETS_MAX)
        return reason_set (reason, "stations: at most %d", TARGETS_MAX);
    self->targets[at] = target;
    self->target_count += at == self->target_count;
    return 0;
}

static int set_center (void *values, const char *text, struct reason *reason)
{
    struct station_settings *self = values;
    return center_settings_parse (text, &self->center, reason);
}

#define FIELD(name) offsetof (struct station_settings, name)

static const struct setting rows[] = {
    {"stations", "--station", "NAME=TYPE@ENDPOINT", NULL, SETTING_LIST, 0, 0, 0, add_target,
     "a target; TYPE is api, pub or vote; or NAME=pull, whose plans\n"
     "                              workers fetch (zplan work); may end with\n"
     "                              ,dialect=microzero,mailbox=identity,key=TEXT,curve=KEY,\n"
     "                              kind=NAME,concurrency=N,rate=N,burst=N;\n"
     "                              repeatable. Without any target, by this option, --center\n"
     "                              or zplan target add, the station adds jobs=pull; it\n"
     "                              stays, with its plans, when others are added later\n"
     "                              (zplan target remove jobs)"},
    {"center", "--center", "ENDPOINT", NULL, SETTING_OWN, 0, 0, 0, set_center,
     "a MicroZero center whose stations become targets; may end with ,key=TEXT", .fixed = true},
    {"callback_target", "--callback-target", "NAME", "callbacks", SETTING_TEXT,
     FIELD (callback_target), 0, 0, NULL,
     "the pull target whose plans are callbacks; the station adds it\n"
     "                              when it is needed (zplan-callback)",
     .fixed = true},
    {"plan_send_timeout", "--send-timeout", "MS", "3000", SETTING_NUMBER, FIELD (send_timeout_ms),
     10, 3600000, NULL, "how long to wait for the status of a run that was sent", .unit_ms = 1},
    {"plan_exec_timeout", "--exec-timeout", "SECONDS", "300", SETTING_NUMBER,
     FIELD (exec_timeout_s), 1, 31536000, NULL,
     "how long a run stays in progress without a heartbeat; then it is sent again",
     .unit_ms = 1000},
    {"plan_doubt_timeout", "--doubt-timeout", "SECONDS", "0", SETTING_NUMBER,
     FIELD (doubt_timeout_s), 0, 31536000, NULL,
     "how long a run that gave no status stays in progress when the\n"
     "                              station that sent it is gone; then it is sent again.\n"
     "                              0 = plan_send_timeout and 3 seconds",
     .unit_ms = 1000},
    {"dialect", "--dialect", "NAME", "zeronet", SETTING_TEXT, FIELD (dialect), 0, 0, NULL,
     "the numbers of the request and publish sockets: zeronet or microzero", .fixed = true},
    {"timezone", "--timezone", "NAME", "UTC", SETTING_TEXT, FIELD (timezone), 0, 0, NULL,
     "the time zone of plans that name none. The hours of zplan add\n"
     "                              are those of its own --timezone, or UTC",
     .fixed = true},
    {"sweep_interval", "--sweep-interval", "SECONDS", "60", SETTING_NUMBER,
     FIELD (sweep_interval_s), 1, 86400, NULL,
     "how often all plans are checked: those missing in the queue are re-queued", .unit_ms = 1000},
    {"request", "--request", "ENDPOINT", "tcp://127.0.0.1:7920", SETTING_TEXT, FIELD (request), 0,
     0, NULL, "where clients send plans and targets send results", .fixed = true},
    {"publish", "--publish", "ENDPOINT", "tcp://127.0.0.1:7921", SETTING_TEXT, FIELD (publish), 0,
     0, NULL, "where results are broadcast", .fixed = true},
    {"events", "--events", "ENDPOINT", "tcp://127.0.0.1:7922", SETTING_TEXT, FIELD (events), 0, 0,
     NULL, "where events are broadcast", .fixed = true},
    {"curve", "--curve", "FILE", "", SETTING_TEXT, FIELD (curve), 0, 0, NULL,
     "the station's secret certificate (see zplan keygen): its sockets are encrypted",
     .fixed = true},
    {"allow", "--allow", "DIR", "", SETTING_TEXT, FIELD (allow), 0, 0, NULL,
     "the folder of public certificates that may connect then, with their roles", .fixed = true},
    {"insecure", "--insecure", NULL, "0", SETTING_FLAG, FIELD (insecure), 0, 0, NULL,
     "bind to addresses that other machines reach, even without curve", .fixed = true},
    {"user", "--user", "NAME", "", SETTING_TEXT, FIELD (user), 0, 0, NULL,
     "when started as root, become this user before anything is opened", .fixed = true},
    {"redis_addr", "--redis", "ADDR", "embedded", SETTING_TEXT, FIELD (redis_addr), 0, 0, NULL,
     "embedded, HOST:PORT[:PASSWORD], unix:PATH, or\n"
     "                              sentinel:MASTER@HOST:PORT,HOST:PORT,...",
     .fixed = true},
    {"data", "--data", "DIR", "", SETTING_TEXT, FIELD (data), 0, 0, NULL,
     "the folder of the embedded Redis; with a given one, of a file by which a\n"
     "                              restarted owner takes over at once [$XDG_STATE_HOME/zplan]",
     .fixed = true},
    {"redis_user", "--redis-user", "NAME", "", SETTING_TEXT, FIELD (redis_user), 0, 0, NULL,
     "the ACL user [$ZPLAN_REDIS_USER]", .fixed = true},
    {"redis_password_file", "--redis-password-file", "FILE", "", SETTING_TEXT,
     FIELD (redis_password_file), 0, 0, NULL,
     "holds the password, mode 0600 [$ZPLAN_REDIS_PASSWORD]", .fixed = true},
    {"redis_defdb", "--redis-db", "N", "0", SETTING_NUMBER, FIELD (redis_defdb), 0, 1023, NULL,
     "the Redis database that holds the plans", .fixed = true},
    {"durable", "--durable", NULL, "0", SETTING_FLAG, FIELD (durable), 0, 0, NULL,
     "accept only a Redis that syncs before it answers (appendfsync always)", .fixed = true},
    {"accept_loss", "--accept-loss", NULL, "0", SETTING_FLAG, FIELD (accept_loss), 0, 0, NULL,
     "accept a Redis that may lose or evict plans", .fixed = true},
    {"replicas", "--replicas", "N", "0", SETTING_NUMBER, FIELD (replicas), 0, 9, NULL,
     "replicas of Redis that must have a plan before it is acknowledged", .fixed = true},
    {"replica_timeout", "--replica-timeout", "MS", "1000", SETTING_NUMBER,
     FIELD (replica_timeout_ms), 10, 2000, NULL, "how long to wait for them", .unit_ms = 1,
     .fixed = true},
    {"repair", "--repair", NULL, "0", SETTING_FLAG, FIELD (repair), 0, 0, NULL,
     "if its append-only file is damaged: truncate it there, keep a copy, start", .fixed = true},
    {"schema", "--schema", "N", "2", SETTING_NUMBER, FIELD (schema), 1, 2, NULL,
     "1: write the plans as versions before 0.2 read them, and end", .fixed = true},
    {"history_count", "--history-count", "N", "100000", SETTING_NUMBER, FIELD (history_count), 0,
     100000000, NULL, "how many outcomes of runs are kept; 0 = none"},
    {"history_age", "--history-age", "SECONDS", "2592000", SETTING_NUMBER, FIELD (history_age_s), 1,
     3153600000, NULL, "how long they are kept", .unit_ms = 1000},
    {"flow_count", "--flow-count", "N", "10000", SETTING_NUMBER, FIELD (flow_count), 0, 10000000,
     NULL, "how many ended runs of flows are kept"},
    {"flow_age", "--flow-age", "SECONDS", "2592000", SETTING_NUMBER, FIELD (flow_age_s), 1,
     3153600000, NULL, "how long they are kept", .unit_ms = 1000},
    {"flow_parallel", "--flow-parallel", "N", "5", SETTING_NUMBER, FIELD (flow_parallel), 0, 10000,
     NULL, "calls of a flow's run in flight at a time, unless it says; 0 = no bound"},
    {"output_bytes", "--output-bytes", "N", "2048", SETTING_NUMBER, FIELD (output_bytes), 0, 65536,
     NULL, "bytes kept of the output of a run, from its start and end; 0 = none"},
    {"output_total", "--output-total", "MIB", "64", SETTING_NUMBER, FIELD (output_total_mib), 1,
     65536, NULL, "memory of Redis for the output of all runs"},
    {"output_age", "--output-age", "SECONDS", "604800", SETTING_NUMBER, FIELD (output_age_s), 1,
     3153600000, NULL, "how long they are kept", .unit_ms = 1000},
    {"max_plans", "--max-plans", "N", "10000000", SETTING_NUMBER, FIELD (limits.plans), 0,
     1000000000, NULL, "plans in all; 0 = no limit"},
    {"max_plans_station", "--max-plans-station", "N", "0", SETTING_NUMBER,
     FIELD (limits.plans_station), 0, 1000000000, NULL, "plans of one target; 0 = no limit"},
    {"max_plans_caller", "--max-plans-caller", "N", "0", SETTING_NUMBER,
     FIELD (limits.plans_caller), 0, 1000000000, NULL, "plans of one caller; 0 = no limit"},
    {"max_callbacks", "--max-callbacks", "N", "1000000", SETTING_NUMBER, FIELD (limits.callbacks),
     1, 1000000000, NULL, "callbacks that are kept; above that the target with the most waits"},
    {"max_callbacks_bytes", "--max-callbacks-bytes", "N", "1073741824", SETTING_NUMBER,
     FIELD (limits.callbacks_bytes), 65536, 1099511627776, NULL, "their bytes"},
    {"max_callbacks_station", "--max-callbacks-station", "N", "100000", SETTING_NUMBER,
     FIELD (limits.callbacks_station), 1, 1000000000, NULL,
     "the same of one target: above that its plans with\n"
     "                              a callback wait"},
    {"max_callbacks_station_bytes", "--max-callbacks-station-bytes", "N", "268435456",
     SETTING_NUMBER, FIELD (limits.callbacks_station_bytes), 65536, 1099511627776, NULL,
     "their bytes"},
    {"max_runs", "--max-runs", "N", "4096", SETTING_NUMBER, FIELD (limits.runs), 1, 1000000, NULL,
     "runs sent whose status has not arrived yet, in all"},
    {"max_runs_target", "--max-runs-target", "N", "256", SETTING_NUMBER, FIELD (limits.runs_target),
     1, 100000, NULL, "the same for one target"},
    {"max_requests", "--max-requests", "N", "2048", SETTING_NUMBER, FIELD (limits.requests), 16,
     65536, NULL, "requests that wait for Redis; others wait in the sockets", .fixed = true},
    {"max_requests_peer", "--max-requests-peer", "N", "2048", SETTING_NUMBER,
     FIELD (limits.requests_peer), 1, 65536, NULL,
     "the same for one peer; others are rejected with BUSY"},
    {"max_replies_peer", "--max-replies-peer", "N", "1000", SETTING_NUMBER,
     FIELD (limits.replies_peer), 1, 100000, NULL,
     "messages queued for a peer; for replies at least\n"
     "                              max_requests_peer",
     .fixed = true},
    {"max_frames", "--max-frames", "N", "32", SETTING_NUMBER, FIELD (limits.frames), 3, 32, NULL,
     "frames of a message after its description"},
    {"max_frame_bytes", "--max-frame-bytes", "N", "1048576", SETTING_NUMBER,
     FIELD (limits.frame_bytes), 4096, 16777216, NULL, "bytes of a frame", .fixed = true},
    {"max_message_bytes", "--max-message-bytes", "N", "4194304", SETTING_NUMBER,
     FIELD (limits.message_bytes), 4096, 16777216, NULL, "bytes of a message", .fixed = true},
    {"max_plan_bytes", "--max-plan-bytes", "N", "4096", SETTING_NUMBER, FIELD (limits.plan.bytes),
     64, 1048576, NULL, "bytes of a PLAN frame"},
    {"max_description_bytes", "--max-description-bytes", "N", "1024", SETTING_NUMBER,
     FIELD (limits.plan.description), 0, DESCRIPTION_ROOM, NULL, "bytes of a plan's description"},
    {"max_json_depth", "--max-json-depth", "N", "16", SETTING_NUMBER, FIELD (limits.plan.depth), 2,
     JSON_DEPTH_MAX, NULL, "nesting of a PLAN frame"},
    {"max_memory", "--max-memory", "MIB", "1024", SETTING_NUMBER, FIELD (limits.memory_mib), 64,
     1048576, NULL, "memory of the station above which requests are rejected with BUSY"},
    {"log_level", "--log-level", "LEVEL", "info", SETTING_TEXT, FIELD (log_level), 0, 0, NULL,
     "error, warn, info or debug"},
    {"log_format", "--log-format", "FORMAT", "logfmt", SETTING_TEXT, FIELD (log_format), 0, 0, NULL,
     "logfmt, or json: one JSON object per line"},
};

// Each topic begins with the row named here, in help and manual.
static const struct setting_topic topics[] = {
    {"stations", "Targets"}, {"timezone", "Plans"},   {"request", "Sockets"},
    {"curve", "Access"},     {"redis_addr", "Redis"}, {"history_count", "History"},
    {"max_plans", "Limits"}, {"log_level", "Log"},
};

const struct setting_table station_setting_table = {rows, sizeof rows / sizeof *rows, topics,
                                                    sizeof topics / sizeof *topics};

static int check_local (const struct station_settings *self, struct reason *reason)
{
    const struct {
        const char *name, *endpoint;
    } bound[] = {{"request", self->request}, {"publish", self->publish}, {"events", self->events}};
    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++) {
        if (endpoint_is_local (bound[i].endpoint))
            continue;
        return reason_set (reason, "%s: %s is not loopback: set curve and allow, or --insecure",
                           bound[i].name, quoted (span_text (bound[i].endpoint)));
    }
    return 0;
}

static int check_curve (const struct station_settings *self, struct reason *reason)
{
    if (self->curve[0] && !self->allow[0])
        return reason_set (reason, "allow: is needed with curve");
    if (self->allow[0] && !self->curve[0])
        return reason_set (reason, "curve: is needed with allow");
    for (size_t i = 0; i < self->target_count; i++) {
        if (self->curve[0] || !self->targets[i].curve[0])
            continue;
        return reason_set (reason, "stations: %s: curve: needs the setting curve",
                           self->targets[i].name);
    }
    return self->curve[0] || self->insecure ? 0 : check_local (self, reason);
}

int station_settings_check (const void *values, struct reason *reason)
{
    const struct station_settings *self = values;
    enum dialect dialect;
    if (!dialect_parse (self->dialect, &dialect))
        return reason_set (reason, "dialect: want zeronet or microzero, got %s",
                           quoted (span_text (self->dialect)));
    if (!log_level_known (self->log_level))
        return reason_set (reason, "log_level: want error, warn, info or debug, got %s",
                           quoted (span_text (self->log_level)));
    if (!log_format_known (self->log_format))
        return reason_set (reason, "log_format: want logfmt or json, got %s",
                           quoted (span_text (self->log_format)));
    if (!station_name_valid (span_text (self->callback_target)))
        return reason_set (reason, "callback_target: want 1..%d of A-Z a-z 0-9 _ . -",
                           STATION_NAME_MAX);
    return check_curve (self, reason);
}
