// Requests of a recovery to the history, and their replies.
#include "subscriber_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "json.h"

enum { PAGE_RUNS = 100 };

// -- requests

void recovery_set_reason (struct recovery *self, struct span words)
{
    snprintf (self->words, sizeof self->words, "%.*s", (int)words.size,
              words.size ? (const char *)words.data : "");
}

static void store_history_answer (void *context, int error, const struct zplan_reply *reply)
{
    struct recovery *self = context;
    struct reason reason;
    size_t size = 0;
    self->ended = true;
    self->error = error;
    if (error) {
        recovery_set_reason (self, span_text (zplan_error_text (error)));
    } else if (reply->status >= ZERO_STATUS_ERROR_FLAG) {
        const void *words = zplan_reply_frame (reply, ZERO_FRAME_STATUS, &size);
        recovery_set_reason (self, size ? span_of (words, size)
                                        : span_text (status_word (reply->status)));
    } else {
        const void *json = zplan_reply_frame (reply, ZERO_FRAME_JSON, &size);
        self->answer = json_read_object (span_of (json, size), &reason);
        if (!self->answer)
            recovery_set_reason (self, span_text ("the station's history is malformed"));
    }
}

// Send `history` with this filter; takes the reference of `filter`, which is NULL when memory ran
// out.
static void request_history (struct recovery *self, enum subscriber_phase phase, json_t *filter)
{
    self->phase = phase;
    self->ended = false;
    char *text = filter ? json_dumps (filter, JSON_COMPACT) : NULL;
    json_decref (filter);
    int error = text ? zplan_client_send_word (self->client, "history", (const char *[]){text}, 1,
                                               store_history_answer, self)
                     : ZPLAN_ERROR_MEMORY;
    free (text);
    if (error)
        store_history_answer (self, error, NULL);
}

static const char *text_or_null (const char *text)
{
    return *text ? text : NULL;
}

// The filter, or NULL if it has fewer members: json_pack omits an optional member when memory runs
// out.
static json_t *whole_filter (json_t *filter, size_t members)
{
    if (json_object_size (filter) == members)
        return filter;
    json_decref (filter);
    return NULL;
}

void recovery_request_head (struct recovery *self)
{
    const struct gap *gap = &self->gap;
    json_t *filter = gap->known ? json_pack ("{s:I, s:i, s:s*}", "since", (json_int_t)gap->last,
                                             "limit", 1, "epoch", text_or_null (gap->epoch))
                                : json_pack ("{s:b, s:i}", "newest", 1, "limit", 1);
    request_history (self, PHASE_HEAD, whole_filter (filter, gap->known && *gap->epoch ? 3 : 2));
}

// Request the output too, so that a missed result has the same data as a received one.
void recovery_request_page (struct recovery *self)
{
    const struct gap *gap = &self->gap;
    json_t *filter = json_pack ("{s:I, s:i, s:s*, s:b, s:s*}", "since", (json_int_t)gap->last,
                                "limit", PAGE_RUNS, "epoch", text_or_null (gap->epoch), "output", 1,
                                "after", text_or_null (self->fill.after));
    request_history (
        self, PHASE_PAGE,
        whole_filter (filter, 3 + (size_t)(*gap->epoch != 0) + (size_t)(*self->fill.after != 0)));
}

// -- replies of the history

static bool read_history_head (const json_t *page, struct history_head *ret)
{
    *ret = (struct history_head){.epoch = json_string_value (json_object_get (page, "epoch")),
                                 .missed = json_is_true (json_object_get (page, "missed"))};
    json_get_integer (page, "first", 0, INT64_MAX, &ret->first);
    if (!ret->epoch)
        ret->epoch = ""; // nothing was ever published
    return json_get_integer (page, "last", 0, INT64_MAX, &ret->last);
}

bool recovery_take_page (struct recovery *self, json_t **ret_page, struct history_head *ret)
{
    json_t *page = self->answer;
    self->answer = NULL;
    if (!page)
        return false;
    if (!read_history_head (page, ret)) {
        recovery_set_reason (self, span_text ("the station's history is malformed"));
        json_decref (page);
        return false;
    }
    *ret_page = page;
    return true;
}

bool recovery_read_run (struct zplan_subscriber *self, const json_t *run, struct zplan_result *ret)
{
    const json_t *title = json_object_get (run, "title");
    const char *id = json_string_value (json_object_get (run, "plan"));
    int64_t status = 0;
    char *text = json_dumps (run, JSON_COMPACT);
    size_t size = text ? strlen (text) : 0, title_size = 0;
    uint8_t *bytes = text ? malloc (size + 1 + json_frame_size (title)) : NULL;
    if (bytes)
        memcpy (bytes, text, size + 1);
    free (text);
    if (!bytes)
        return false;
    json_to_frame (title, bytes + size + 1, &title_size); // fails if the run has no title
    free (self->bytes);
    self->bytes = bytes;
    json_get_integer (run, "status", 0, UINT8_MAX, &status);
    *ret = (struct zplan_result){.title = bytes + size + 1,
                                 .title_size = title_size,
                                 .status = (uint8_t)status,
                                 .id = id ? id : "",
                                 .id_size = id ? strlen (id) : 0,
                                 .from_history = true,
                                 .run = bytes,
                                 .run_size = size};
    return true;
}
