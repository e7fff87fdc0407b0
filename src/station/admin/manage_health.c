// health: whether the station is healthy, what is wrong, and how durable acknowledged data is.
// Answered from memory, so that it works while Redis is away.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "callback_book.h"
#include "center.h"
#include "clock.h"
#include "flow_book.h"
#include "json.h"
#include "log.h"
#include "manage_private.h"
#include "permit.h"
#include "redis_info.h"
#include "rfc3339.h"

enum { RECENT_US = 60000000 }; // older rejections are not reported

// The findings: the texts of the problems, those of the warnings, and all of them with advice.
struct findings {
    json_t *problems, *warnings, *all;
};

enum { UNKNOWN_NAMED = 5 }; // unknown targets that are listed by name

enum { FINDING_PROBLEM, FINDING_WARNING };

// Add a problem or warning. `advice`: what to do, a string constant.
__attribute__ ((format (printf, 4, 5))) static void add_finding (struct findings *self, int level,
                                                                 const char *advice,
                                                                 const char *format, ...)
{
    char text[2 * REASON_MAX]; // a whole reason, and the text before it
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    json_t *line = json_string (text);
    line = line ? line : json_string ("(not UTF-8)");
    json_t *finding =
        json_pack ("{s:s, s:O, s:s}", "level", level == FINDING_PROBLEM ? "problem" : "warning",
                   "text", line, "do", advice);
    json_array_append_new (self->all, finding);
    json_array_append_new (level == FINDING_PROBLEM ? self->problems : self->warnings, line);
}

// Add what keeps the station from working.
static void add_problems (const struct station *self, struct findings *list)
{
    const struct link *link = store_link (self->store);
    if (!station_store_up (self) || station_store_trouble (self)[0])
        add_finding (list, FINDING_PROBLEM,
                     self->redis_trouble.text[0]
                         ? "free space on the disk of --data: the station then continues"
                     : link_state (link) == LINK_REFUSED
                         ? "correct this in Redis, or start zpland with another --redis"
                         : "start Redis, or check --redis and the network",
                     "%s: plans are rejected, and none runs, until it is back",
                     station_store_trouble (self)[0] ? station_store_trouble (self)
                                                     : "Redis is away");
    else if (self->refusing.text[0] && clock_mono_us () - self->refusing_us < RECENT_US)
        add_finding (list, FINDING_PROBLEM,
                     strstr (self->refusing.text, "OOM")
                         ? "raise maxmemory of Redis, or remove plans"
                         : "check the log of Redis, and the space on its disk",
                     "the last plan was rejected: %s", self->refusing.text);
    // While Redis is away, no target can be added, and stored ones may not have been read.
    if (self->target_count == 0 && station_store_up (self))
        add_finding (list, FINDING_PROBLEM, "zplan target add NAME=TYPE@ENDPOINT",
                     "no target is known: every plan is rejected");
    char source[STATION_NAME_MAX + 1];
    int64_t callbacks;
    if (callback_book_full_source (self, source, &callbacks))
        add_finding (
            list, FINDING_PROBLEM,
            "start zplan-callback, or remove those that are dead: zplan list --target CALLBACKS",
            "max_callbacks: %lld callbacks of %s are kept; its plans with a callback wait",
            (long long)callbacks, source);
    if (self->memory_full)
        add_finding (list, FINDING_PROBLEM,
                     "raise --max-memory, or find out who sends most (zplan stats)",
                     "max_memory: the station uses more than %lld MiB; requests are rejected",
                     (long long)self->settings->limits.memory_mib);
}

// Add risks to the data in Redis.
static void add_redis_risks (const struct station *self, struct findings *list)
{
    enum { CLOCK_MS = 1000, FULL_PERCENT = 90 };
    const struct link *link = store_link (self->store);
    const struct link_facts *facts = link_facts (link);
    const char *fsync = link_fsync (link);
    if (strcmp (fsync, "always") != 0)
        add_finding (
            list, FINDING_WARNING,
            strcmp (fsync, "none") == 0
                ? "redis-cli CONFIG SET appendonly yes, and CONFIG REWRITE"
                : "redis-cli CONFIG SET appendfsync always, and CONFIG REWRITE, if that is not "
                  "enough",
            "appendfsync is %s: an acknowledged plan is %s", fsync, durability_text (fsync));
    if (facts->redis.policy[0] && strcmp (facts->redis.policy, "noeviction") != 0)
        add_finding (list, FINDING_WARNING,
                     "redis-cli CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE",
                     "maxmemory-policy is %s: plans may be evicted", facts->redis.policy);
    bool limited = facts->redis.limit > 0;
    if (limited && facts->redis.used / FULL_PERCENT >= facts->redis.limit / 100)
        add_finding (list,
                     facts->redis.used >= facts->redis.limit ? FINDING_PROBLEM : FINDING_WARNING,
                     "raise maxmemory of Redis, or remove plans",
                     "Redis uses %lld of its %lld bytes: plans are rejected when they are used up",
                     (long long)facts->redis.used, (long long)facts->redis.limit);
    if (facts->clock_known && llabs (facts->clock_ahead_ms) > CLOCK_MS)
        add_finding (list, FINDING_WARNING, "synchronize both machines by NTP",
                     "the clock of Redis is %lld ms %s this machine's, and plans run by it",
                     (long long)llabs (facts->clock_ahead_ms),
                     facts->clock_ahead_ms > 0 ? "ahead of" : "behind");
}

// Add settings and entries of the allow-list that are not in effect.
static void add_settings_findings (const struct station *self, struct findings *list)
{
    if (self->reload_trouble.text[0])
        add_finding (list, FINDING_WARNING,
                     "correct it, then send SIGHUP (systemctl reload zpland)",
                     "the settings could not be applied at the last SIGHUP, the old ones stay: %s",
                     self->reload_trouble.text);
    if (self->access_wrong)
        add_finding (list, FINDING_WARNING, "correct or remove it: it is read again automatically",
                     "invalid files in --allow: %zu; the first: %s", self->access_wrong,
                     self->access_trouble.text);
    else if (self->access_trouble.text[0])
        add_finding (list, FINDING_WARNING, "restore the folder: it is read again automatically",
                     "the list of allowed keys is unchanged: %s", self->access_trouble.text);
}

// Add a center that does not answer or denies access. The stations that it listed before stay
// targets.
static void add_center_finding (const struct station *self, struct findings *list)
{
    const struct center_state *state = self->center ? center_state (self->center) : NULL;
    if (!state || !state->trouble[0])
        return;
    add_finding (
        list, state->known ? FINDING_WARNING : FINDING_PROBLEM,
        "check that it runs, and that --center names its SystemManage, with its service key if it "
        "has one: tcp://HOST:PORT,key=TEXT",
        "the center %s does not list its stations: %s%s", state->endpoint, state->trouble,
        state->known ? "; those listed before stay" : "");
}

static void add_target_findings (const struct station *self, const struct target *target,
                                 struct findings *list)
{
    int64_t unread = core_unread (store_core (self->store), span_text (target_name (target)));
    char since[RFC3339_SIZE];
    if (flow_book_has (self, span_text (target_name (target))))
        add_finding (list, FINDING_WARNING, "rename the target, or remove the flow",
                     "target %s has the name of a flow, and gets its plans", target_name (target));
    if (!target_connection (target)) {
        add_finding (list, FINDING_WARNING, "start it, or check its endpoint (zplan target list)",
                     "target %s is not connected", target_name (target));
    } else if (target_unresponsive_since (target)) {
        rfc3339_format (target_unresponsive_since (target), since);
        add_finding (
            list, FINDING_WARNING,
            "check whether it hangs, or waits for its workers: it gets no new runs until it "
            "answers",
            "target %s is unresponsive since %s, with %d runs that have no status",
            target_name (target), since, target_unanswered (target));
    }
    if (unread)
        add_finding (list, FINDING_WARNING,
                     "check why the target does not take them: those are read again as others run",
                     "more due plans wait than memory is for: %lld of target %s are in Redis only",
                     (long long)unread, target_name (target));
}

// Unknown targets with plans: they were removed, or belong to the settings of another station.
struct unknown_targets {
    struct station *station;
    const struct peer *peer;
    int64_t targets;
    struct {
        struct span name;
        int64_t plans;
    } named[UNKNOWN_NAMED + 1]; // the targets with the most plans
};

static void note_unknown_target (void *owner, struct span name, int64_t plans)
{
    struct unknown_targets *self = owner;
    size_t at = self->targets < UNKNOWN_NAMED ? (size_t)self->targets : UNKNOWN_NAMED;
    if (station_target (self->station, name) || flow_book_has (self->station, name) ||
        !permits_station (self->station, self->peer->user, name))
        return;
    self->targets++;
    for (; at && self->named[at - 1].plans < plans; at--)
        self->named[at] = self->named[at - 1];
    self->named[at].name = name;
    self->named[at].plans = plans;
}

static void add_unknown_targets (struct station *self, const struct peer *peer,
                                 struct findings *list)
{
    char names[UNKNOWN_NAMED * (STATION_NAME_MAX + 24) + 32] = "";
    struct unknown_targets all = {.station = self, .peer = peer};
    size_t size = 0;
    core_each_target (store_core (self->store), note_unknown_target, &all);
    for (int64_t i = 0; i < all.targets && i < UNKNOWN_NAMED; i++)
        size += (size_t)snprintf (names + size, sizeof names - size, "%s%.*s (%lld)", i ? ", " : "",
                                  (int)all.named[i].name.size, (const char *)all.named[i].name.data,
                                  (long long)all.named[i].plans);
    if (all.targets > UNKNOWN_NAMED)
        snprintf (names + size, sizeof names - size, " and %lld more",
                  (long long)(all.targets - UNKNOWN_NAMED));
    if (all.targets)
        add_finding (
            list, FINDING_WARNING,
            "zplan target add NAME=TYPE@ENDPOINT, or correct --station of this station: they "
            "fail with SEND_ERROR, and are retried",
            "targets that this station does not know have plans: %s", names);
}

// Add what an operator should know about.
static void add_warnings (struct station *self, const struct peer *peer, struct findings *list)
{
    if (station_store_up (self))
        add_redis_risks (self, list);
    add_settings_findings (self, list);
    add_center_finding (self, list);
    for (size_t i = 0; i < self->target_count; i++)
        if (permits_station (self, peer->user, span_text (target_name (self->targets[i]))))
            add_target_findings (self, self->targets[i], list);
    if (station_store_up (self))
        add_unknown_targets (self, peer, list);
    if (self->counters.lost_data)
        add_finding (list, FINDING_WARNING,
                     "the log says which; zplan import restores what was exported",
                     "Redis has lost data since this station started");
    if (self->counters.requeued)
        add_finding (
            list, FINDING_WARNING,
            "the log says which; find out who changes plan:time:set in Redis",
            "plans were missing in the queue and were re-queued since this station started: %llu",
            (unsigned long long)self->counters.requeued);
    if (log_dropped ())
        add_finding (list, FINDING_WARNING, "check why the reader of zpland's log does not read",
                     "log lines were lost: stderr does not accept them");
    if (geteuid () == 0)
        add_finding (list, FINDING_WARNING, "start zpland with --user NAME",
                     "runs as root: give it a user of its own (--user)");
}

static json_t *redis_json (const struct station *self)
{
    const struct link *link = store_link (self->store);
    const struct link_facts *facts = link_facts (link);
    const char *fsync = link_fsync (link);
    bool refused = link_state (link) == LINK_UP && station_store_trouble (self)[0];
    return json_pack (
        "{s:s, s:o, s:o, s:s, s:I, s:o*, s:o*, s:I, s:I, s:o}", "state",
        link_state_name (refused ? LINK_REFUSED : link_state (link)), "trouble",
        json_from_frame (span_text (station_store_trouble (self))), "fsync",
        json_from_frame (span_text (fsync)), "acknowledged", durability_text (fsync), "replicas",
        (json_int_t)self->settings->replicas, "version", json_string (facts->redis.version),
        "maxmemory_policy", json_string (facts->redis.policy), "maxmemory",
        (json_int_t)facts->redis.limit, "used_memory", (json_int_t)facts->redis.used,
        "clock_ahead_ms", facts->clock_known ? json_integer (facts->clock_ahead_ms) : json_null ());
}

void manage_add_owner_members (const struct station *self, json_t *object)
{
    json_object_set_new (object, "owner", json_string (self->name));
    json_object_set_new (object, "owner_since", json_integer (self->owner_since));
    json_object_set_new (object, "standbys",
                         json_integer (self->station_count > 1 ? self->station_count - 1 : 0));
}

int manage_health (struct station *self, struct request *request)
{
    struct findings findings = {json_array (), json_array (), json_array ()};
    size_t connected = 0;
    add_problems (self, &findings);
    add_warnings (self, &request->peer, &findings);
    for (size_t i = 0; i < self->target_count; i++)
        connected += target_connection (self->targets[i]) != 0;
    json_t *object =
        json_pack ("{s:b, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "healthy",
                   json_array_size (findings.problems) == 0, "problems", findings.problems,
                   "warnings", findings.warnings, "findings", findings.all, "redis",
                   redis_json (self), "targets", (json_int_t)self->target_count, "connected",
                   (json_int_t)connected, "attending", (json_int_t)self->station_count);
    manage_add_owner_members (self, object);
    json_object_set_new (object, "version", json_string (ZPLAN_VERSION));
    json_object_set_new (object, "uptime_s",
                         json_integer ((clock_mono_us () - self->started_us) / 1000000));
    json_object_set_new (object, "now_ms", json_integer (clock_wall_us () / 1000));
    manage_reply_json (self, &request->peer, 0, object);
    return 0;
}
