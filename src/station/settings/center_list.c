// Reads a center's list of stations, and its events.
//
// The numbers in this file are those that centers send, in three generations of MicroZero: the
// seed, of the time of the plan document; 1.0 to the master branch; 1.1 and later. They differ in
// the field of the name, in some event and state numbers, and in the frames around the list.
#include "center_list.h"

#include <stdio.h>

#include "codes.h"
#include "json.h"
#include "message.h"

// -- the list

enum {
    STATION_PUBLISH = 2,
    STATION_API = 3,
    STATION_VOTE = 4,
    STATION_QUEUE = 6,

    STATUS_DENY = 0xF9, // sent by versions that have a service key

    STATE_DESTROY = 8,
    STATE_SEED_UNINSTALL = 9 // later versions send 9 for stopped, until a recover command
};

// The target type for a center's station type; -1: it is no target. A queue (1.4 and 1.5) answers
// like a pub station. ROUTE_API (5) is no target: it answers with ids of its own, so its RUNING
// matches no run and each run would be resent. An operator can still name it in the settings. The
// other types serve the center itself: the dispatcher, plans (255), traces, proxies.
static int target_type_of (int64_t type)
{
    switch (type) {
    case STATION_API:
        return TARGET_API;
    case STATION_PUBLISH:
    case STATION_QUEUE:
        return TARGET_PUB;
    case STATION_VOTE:
        return TARGET_VOTE;
    default:
        return -1;
    }
}

static int64_t number_or_0 (const json_t *entry, const char *field)
{
    int64_t number = 0; // a center omits fields that are 0
    json_get_integer (entry, field, INT64_MIN, INT64_MAX, &number);
    return number;
}

// Whether the station is one of the center itself (`is_base`). The first centers do not report that
// field: these names are theirs. The last two publish the workers' heartbeats and the log lines,
// and are no targets of plans.
static bool belongs_to_center (const json_t *entry, const struct found_station *station)
{
    static const char *const names[] = {"SystemManage", "PlanDispatcher", "HealthCenter",
                                        "RemoteLog"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (station->seed_dialect && strcmp (station->name, names[i]) == 0)
            return true;
    return json_is_true (json_object_get (entry, "is_base"));
}

static bool read_name (const json_t *entry, struct found_station *ret)
{
    const json_t *name = json_object_get (entry, "name");
    ret->seed_dialect = !name;
    if (!name)
        name = json_object_get (entry, "station_name");
    struct span text = json_span (name);
    if (!station_name_valid (text))
        return false;
    memcpy (ret->name, text.data, text.size);
    ret->name[text.size] = '\0';
    return true;
}

static bool read_station (const json_t *entry, const char *host, struct found_station *ret)
{
    int64_t port;
    int64_t state = number_or_0 (entry, "station_state");
    int type = target_type_of (number_or_0 (entry, "station_type"));
    // Omit stations that the center has removed. A paused or closed one stays on the list: it
    // reports its state itself, or is away.
    if (type < 0 || !read_name (entry, ret) || belongs_to_center (entry, ret) ||
        state == STATE_DESTROY || (ret->seed_dialect && state == STATE_SEED_UNINSTALL) ||
        !json_get_integer (entry, "request_port", 1, 65535, &port))
        return false;
    ret->type = (enum target_type)type;
    int size = snprintf (ret->endpoint, sizeof ret->endpoint, "tcp://%s:%d", host, (int)port);
    return size > 0 && (size_t)size < sizeof ret->endpoint;
}

// Add the station, unless the list has one of its name already.
static void add_found_target (const struct found_station *station, struct found_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp (list->at[i].name, station->name) == 0)
            return;
    if (list->count < FOUND_MAX)
        list->at[list->count++] = *station;
    else
        list->left_out++;
}

int center_list_read (const struct span *frames, size_t count, const char *host,
                      struct found_list *ret, struct reason *reason)
{
    struct message answer;
    if (message_read (frames, count, &answer, reason))
        return -1;
    if (answer.envelope == ENVELOPE_PLAIN && answer.desc.code == STATUS_DENY)
        return reason_set (reason, "status 0xf9 (deny): the service key is wrong or missing");
    if (answer.envelope != ENVELOPE_PLAIN || answer.desc.code != ZERO_STATUS_OK_ID)
        return reason_set (reason, "status: want OK (0x01), got 0x%02x", answer.desc.code);
    bool found;
    struct span text = message_frame (&answer, ZERO_FRAME_STATUS, &found);
    if (!found)
        return reason_set (reason, "STATUS: the frame is missing");
    while (text.size && text.data[text.size - 1] == '\0')
        text.size--; // texts of a center may be padded
    json_t *array = json_read_array (text, reason);
    if (!array)
        return -1;
    ret->count = ret->left_out = 0;
    for (size_t i = 0; i < json_array_size (array); i++) {
        struct found_station station;
        if (read_station (json_array_get (array, i), host, &station))
            add_found_target (&station, ret);
    }
    json_decref (array);
    return 0;
}

bool center_list_same (const struct found_list *a, const struct found_list *b)
{
    if (a->count != b->count || a->left_out != b->left_out)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct found_station *left = &a->at[i], *right = &b->at[i];
        if (strcmp (left->name, right->name) != 0 || left->type != right->type ||
            strcmp (left->endpoint, right->endpoint) != 0 ||
            left->seed_dialect != right->seed_dialect)
            return false;
    }
    return true;
}

// -- events

enum {
    EVENT_WORKER_SOUND_OFF = 4,
    EVENT_SEED_STATE = 12,
    EVENT_STATE = 13, // "trends" in the last versions
    EVENT_CLIENT_JOIN = 16,
    EVENT_MONITOR_CLOSE = 21 // the last event number about clients and connections
};

// A center broadcasts a status report, with the counters of each station, every second or two;
// later versions also report every connection. None of these events changes the list. Unknown
// events matter.
bool center_event_matters (const struct span *frames, size_t count)
{
    if (count < 2 || frames[1].size < 2)
        return true;
    uint8_t event = frames[1].data[1];
    if (event == EVENT_WORKER_SOUND_OFF)
        return false;
    if (span_is (frames[0], "zero_event")) // the title of every event of the seed
        return event != EVENT_SEED_STATE;
    return event != EVENT_STATE && (event < EVENT_CLIENT_JOIN || event > EVENT_MONITOR_CLOSE);
}
