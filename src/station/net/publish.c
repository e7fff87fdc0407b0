#include "publish.h"

#include <inttypes.h>
#include <stdlib.h>

#include "codes.h"
#include "ident.h"
#include "json.h"
#include "memory.h"
#include "plan_json.h"
#include "plan_message.h"

// -- subscribers

// Note a subscription. After the first one everything is sent, even if all peers unsubscribe: any
// peer may send an unsubscription for a subscription that it never had.
static bool on_subscription (void *owner)
{
    struct publisher *publisher = owner;
    return subscribers_read (publisher->subscribers, publisher->socket);
}

void publish_watch (struct station *self, struct publisher *publisher, const char *endpoint)
{
    publisher->subscribers = subscribers_new (endpoint);
    watch_start (&publisher->watch, self->reactor, publisher->socket, on_subscription, publisher);
}

void publish_close (struct publisher *publisher)
{
    watch_end (&publisher->watch);
    subscribers_destroy (&publisher->subscribers);
    if (publisher->socket)
        zmq_close (publisher->socket);
    *publisher = (struct publisher){0};
}

static bool has_subscribers (const struct publisher *publisher)
{
    return publisher->subscribers && subscribers_any (publisher->subscribers);
}

bool publish_has_result_subscribers (const struct station *self)
{
    return has_subscribers (&self->results);
}

bool publish_has_event_subscribers (const struct station *self)
{
    return has_subscribers (&self->events) ||
           (self->dialect == DIALECT_MICROZERO && publish_has_result_subscribers (self));
}

// -- results

void publish_result (struct station *self, const struct publication *publication)
{
    char id[IDENT_SIZE];
    struct message message;
    if (self->dialect == DIALECT_MICROZERO)
        return;
    self->counters.broadcasts++;
    if (!publication->json || !has_subscribers (&self->results))
        return;
    message_start (&message, publication->status);
    // The title is the first frame, where other messages have their envelope, as subscribers filter
    // by it.
    message.envelope = ENVELOPE_CALLER;
    message.sender = publication->title;
    message_add (&message, ZERO_FRAME_SUBTITLE, span_text (ident_text (publication->plan_id, id)));
    message_add (&message, ZERO_FRAME_CONTENT, span_text (publication->json));
    for (size_t i = 0; i < publication->desc->count && i < BROADCAST_FRAMES_MAX; i++)
        message_add (&message, publication->desc->types[i], publication->frames[i]);
    watch_send (&self->results.watch, self->results.socket, (struct span){0}, &message);
}

// -- events

// The plan's JSON with seq, epoch and, in a result, the number of its broadcast. The caller frees
// it.
static char *event_json (struct station *self, const struct notice *notice)
{
    size_t size = strlen (notice->json);
    char *text = memory_new (size + 128);
    char result[32] = "";
    if (notice->event == ZPLAN_EVENT_RESULT)
        snprintf (result, sizeof result, "\"result\":%" PRId64 ",", notice->result_seq);
    snprintf (text, size + 128, "%.*s,%s\"seq\":%" PRIu64 ",\"epoch\":\"%s\"}", (int)size - 1,
              notice->json, result, self->event_seq, self->event_epoch);
    return text;
}

// -- the layout of MicroZero

// Add all fields of a plan that is new to MicroZero's monitor. The monitor requires texts to be
// strings, so bytes that are not text are sent as base64.
static void add_microzero_fields (struct station *self, struct span station, struct span command,
                                  json_t *plan, json_t *state)
{
    static const char *const texts[] = {"caller", "request_id", "description"};
    static const int types[TARGET_TYPES] = {
        [TARGET_API] = 3, [TARGET_PUB] = 2, [TARGET_VOTE] = 4, [TARGET_PULL] = 3};
    const struct target *target = station_target (self, station);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *encoded = json_object_get (json_object_get (plan, texts[i]), "b64");
        if (encoded)
            json_object_set (plan, texts[i], encoded);
    }
    json_object_set (state, "no_skip", json_object_get (plan, "no_keep"));
    json_object_update_missing (state, plan);
    json_object_del (state, "no_keep");
    json_object_del (state, "last_state");
    json_t *name = json_from_frame (command);
    if (json_string_length (name))
        json_object_set (state, "command", name);
    json_decref (name);
    if (target)
        json_object_set_new (state, "station_type", json_integer (types[target_type (target)]));
}

// The state that the monitor copies onto the plan it knows, a new object.
static json_t *new_microzero_state (const json_t *plan, uint8_t status)
{
    static const char *const state_fields[] = {"plan_id",    "exec_time", "plan_state", "plan_time",
                                               "real_repet", "skip_set",  "skip_num"};
    json_t *state = json_object ();
    for (size_t i = 0; i < sizeof state_fields / sizeof *state_fields; i++)
        json_object_set (state, state_fields[i], json_object_get (plan, state_fields[i]));
    json_object_set_new (state, "exec_state",
                         json_integer (dialect_status_out (DIALECT_MICROZERO, status)));
    return state;
}

static uint8_t last_status_of (const json_t *plan)
{
    return (uint8_t)json_integer_value (json_object_get (plan, "last_state"));
}

static json_t *new_microzero_event (struct station *self, const struct notice *notice)
{
    json_t *plan = json_loads (notice->json, JSON_DISABLE_EOF_CHECK, NULL);
    // MicroZero sends EXEC with the status of a run in progress.
    uint8_t status =
        notice->event == ZPLAN_EVENT_EXEC ? ZERO_STATUS_RUNING_ID : last_status_of (plan);
    json_t *state = new_microzero_state (plan, status);
    if (notice->event == ZPLAN_EVENT_ADD || notice->event == ZPLAN_EVENT_UPDATE)
        add_microzero_fields (self, notice->station, notice->command, plan, state);
    json_decref (plan);
    return state;
}

json_t *publish_monitor_plan (struct station *self, const struct plan *plan, struct span command)
{
    char *text = plan_public_text (plan);
    json_t *object = json_loads (text, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *state = new_microzero_state (object, last_status_of (object));
    add_microzero_fields (self, plan->station, command, object, state);
    json_decref (object);
    free (text);
    return state;
}

// [title][desc][plan id][state], and for a result the answer's description under STATUS and its
// frames. SUBTITLE is the event name that the monitor expects.
static void publish_microzero (struct station *self, const struct notice *notice)
{
    char id[IDENT_SIZE];
    uint8_t desc_bytes[DESC_SIZE_MAX];
    struct message message;
    struct desc plain = {.code = dialect_status_out (DIALECT_MICROZERO, notice->status)};
    json_t *state = new_microzero_event (self, notice);
    char *json = json_write (state);
    json_decref (state);
    message_start (&message, (uint8_t)notice->event);
    message.envelope = ENVELOPE_CALLER;
    message.sender = notice->title;
    message_add (&message, ZERO_FRAME_SUBTITLE, span_text (ident_text (notice->plan_id, id)));
    message_add (&message, ZERO_FRAME_CONTEXT, span_text (json));
    if (notice->event == ZPLAN_EVENT_RESULT) {
        struct desc answer = notice->frames ? *notice->desc : plain;
        answer.code = plain.code;
        message_add (&message, ZERO_FRAME_STATUS,
                     span_of (desc_bytes, desc_write (&answer, desc_bytes)));
        for (size_t i = 0; notice->frames && i < answer.count && i < BROADCAST_FRAMES_MAX - 1; i++)
            message_add (&message, answer.types[i], notice->frames[i + 1]);
    }
    watch_send (&self->results.watch, self->results.socket, (struct span){0}, &message);
    free (json);
}

static void send_event (struct station *self, const struct notice *notice)
{
    char id[IDENT_SIZE], title[16 + STATION_NAME_MAX];
    struct message message;
    char *json = event_json (self, notice);
    snprintf (title, sizeof title, "plan.%s.%.*s", event_word (notice->event),
              (int)notice->station.size, (const char *)notice->station.data);
    message_start (&message, (uint8_t)notice->event);
    message.envelope = ENVELOPE_CALLER;
    message.sender = span_text (title);
    message_add (&message, ZERO_FRAME_SUBTITLE, span_text (ident_text (notice->plan_id, id)));
    message_add (&message, ZERO_FRAME_CONTEXT, span_text (json));
    watch_send (&self->events.watch, self->events.socket, (struct span){0}, &message);
    free (json);
}

void publish_event (struct station *self, const struct notice *notice)
{
    self->event_seq++;
    if (notice->json && has_subscribers (&self->events))
        send_event (self, notice);
    // MicroZero's monitors know eight events; FLOW is none of them.
    if (self->dialect == DIALECT_MICROZERO && notice->event != ZPLAN_EVENT_FLOW) {
        self->counters.broadcasts++;
        if (notice->json && has_subscribers (&self->results))
            publish_microzero (self, notice);
    }
}

void publish_added (struct station *self, const struct plan *plan)
{
    char *json = publish_has_event_subscribers (self) ? plan_public_text (plan) : NULL;
    struct notice notice = {.event = ZPLAN_EVENT_ADD,
                            .plan_id = plan->id,
                            .station = plan->station,
                            .title = plan->description,
                            .json = json,
                            .command = json ? plan_command (plan) : (struct span){0}};
    publish_event (self, &notice);
    notice.event = plan_is_queued (plan)       ? ZPLAN_EVENT_QUEUE
                   : plan->state == PLAN_CLOSE ? ZPLAN_EVENT_END
                                               : ZPLAN_EVENT_PAUSE;
    publish_event (self, &notice);
    free (json);
}
