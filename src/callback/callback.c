#include "callback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "json.h"
#include "memory.h"
#include "message.h"
#include "zplan_codes.h"

// -- reading

static bool copy_ident (const json_t *object, const char *field, char ret[IDENT_SIZE])
{
    uint64_t id;
    const char *text = json_string_value (json_object_get (object, field));
    if (!text || !ident_parse (span_text (text), &id))
        return false;
    ident_text (id, ret);
    return true;
}

bool callback_read_ids (const json_t *taken, struct callback *ret)
{
    enum { DAY_S = 86400 };
    if (!copy_ident (taken, "plan_id", ret->plan) || !copy_ident (taken, "exec_id", ret->exec))
        return false;
    ret->ping_s = ret->worker_timeout_s = 1;
    json_get_integer (taken, "ping_interval", 1, DAY_S, &ret->ping_s);
    json_get_integer (taken, "worker_timeout", 1, DAY_S, &ret->worker_timeout_s);
    return true;
}

// The decoded frames of the job, the description first, in one allocation.
struct job_frames {
    struct span at[MESSAGE_FRAMES_MAX];
    uint8_t *bytes;
};

static bool decode_frames (const json_t *frames, struct job_frames *ret)
{
    size_t i, size, used = 0, room = 1;
    const json_t *frame;
    json_array_foreach (frames, i, frame) room += json_frame_size (frame);
    uint8_t *bytes = ret->bytes = memory_new (room);
    json_array_foreach (frames, i, frame)
    {
        if (!json_to_frame (frame, bytes + used, &size))
            return false;
        ret->at[i] = span_of (bytes + used, size);
        used += size;
    }
    return true;
}

static bool copy_span (struct span text, char *out, size_t size)
{
    if (text.size >= size || (text.size && memchr (text.data, '\0', text.size)))
        return false;
    memcpy (out, text.size ? text.data : (const uint8_t *)"", text.size);
    out[text.size] = '\0';
    return true;
}

static int read_custom_headers (struct callback *self, struct span text, struct reason *reason)
{
    struct reason why;
    const char *name;
    json_t *value;
    json_t *headers = self->headers = text.size ? json_read_object (text, &why) : NULL;
    if (text.size && !headers)
        return reason_set (reason, "headers: %s", why.text);
    if (json_object_size (headers) > CALLBACK_HEADERS_MAX)
        return reason_set (reason, "headers: want at most %d", CALLBACK_HEADERS_MAX);
    json_object_foreach (headers, name, value)
    {
        struct span bytes = json_span (value);
        if (!json_is_string (value))
            reason_set (&why, "%s: want a text", quoted (span_text (name)));
        else if (callback_header_check (span_text (name), bytes, &why) == 0)
            continue;
        return reason_set (reason, "headers: %s", why.text);
    }
    return 0;
}

static int read_request_frames (struct callback *self, const struct desc *desc,
                                const struct span *frames, struct reason *reason)
{
    struct span command = {0}, body = {0}, args[3] = {{0}};
    size_t arg_count = 0;
    for (size_t i = 0; i < desc->count; i++) {
        if (desc->types[i] == ZERO_FRAME_COMMAND)
            command = frames[i];
        else if (desc->types[i] == ZERO_FRAME_ARG && arg_count < 3)
            args[arg_count++] = frames[i];
        else if (desc->types[i] == ZERO_FRAME_JSON)
            body = frames[i];
    }
    self->is_put = span_is (command, "PUT");
    if (!self->is_put && !span_is (command, "POST"))
        return reason_set (reason, "method: want POST or PUT, got %s", quoted (command));
    if (args[0].size == 0 || !copy_span (args[0], self->where, sizeof self->where))
        return reason_set (reason, "url: want 1..%d bytes of text", CALLBACK_URL_MAX);
    self->named = self->where[0] == '@';
    if (self->named && !callback_name_valid (span_text (self->where + 1)))
        return reason_set (reason, "url: want @NAME with a name of 1..64 letters, digits and _.-");
    if (args[1].size &&
        (!callback_name_valid (args[1]) || !copy_span (args[1], self->secret, sizeof self->secret)))
        return reason_set (reason, "secret: want a name of 1..64 letters, digits and _.-");
    self->body = memory_new (body.size + 1);
    self->body_size = body.size;
    memcpy (self->body, body.size ? body.data : (const uint8_t *)"", body.size);
    return read_custom_headers (self, args[2], reason);
}

static bool read_plan_fields (struct callback *self, const json_t *plan)
{
    const json_t *ext = json_object_get (plan, "ext");
    const char *status = json_string_value (json_object_get (ext, "status"));
    const char *source = json_string_value (json_object_get (plan, "source"));
    const char *trace = json_string_value (json_object_get (plan, "traceparent"));
    self->timeout_s = CALLBACK_TIMEOUT_S;
    json_get_integer (ext, "timeout", 1, CALLBACK_TIMEOUT_MAX_S, &self->timeout_s);
    copy_span (span_text (source ? source : ""), self->source, sizeof self->source);
    copy_span (span_text (trace ? trace : ""), self->trace, sizeof self->trace);
    bool of_run =
        copy_ident (ext, "plan", self->about_plan) && copy_ident (ext, "exec_id", self->about_exec);
    snprintf (self->id, sizeof self->id, "%s-%s%s", self->about_plan, self->about_exec,
              status && strcmp (status, "ok") != 0 ? "-e" : "");
    return of_run;
}

int callback_read (const json_t *taken, struct callback *self, struct reason *reason)
{
    const json_t *frames = json_object_get (taken, "frames");
    size_t count = json_array_size (frames);
    struct job_frames job_frames = {0};
    struct desc desc;
    int rc = -1;
    if (!read_plan_fields (self, json_object_get (taken, "plan")))
        reason_set (reason, "ext: names no run");
    else if (count < 1 || count >= MESSAGE_FRAMES_MAX || !decode_frames (frames, &job_frames) ||
             desc_parse (job_frames.at[0], count - 1, &desc, reason))
        reason_set (reason, "the frames cannot be read");
    else
        rc = read_request_frames (self, &desc, job_frames.at + 1, reason);
    free (job_frames.bytes);
    return rc;
}

int callback_set_url (struct callback *self, const struct receiver *receiver, struct reason *reason)
{
    struct reason why;
    if (callback_url_read (span_text (receiver ? receiver->url : self->where), &self->url, &why) ==
        0)
        return 0;
    // A reason must not quote the operator's files.
    return reason_set (reason, "url: %s", receiver ? "the receiver's is none" : why.text);
}

void callback_clear (struct callback *self)
{
    json_decref (self->headers);
    free (self->body);
    *self = (struct callback){0};
}

// -- one attempt

struct header_lines {
    char (*at)[CALLBACK_LINE_SIZE];
    size_t count;
};

static void add_header_line (struct header_lines *self, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

static void add_header_line (struct header_lines *self, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    vsnprintf (self->at[self->count++], CALLBACK_LINE_SIZE, format, args);
    va_end (args);
}

static void add_aksk_signature (struct header_lines *lines, const struct callback *self,
                                const struct secret *secret, int64_t now_s)
{
    char date[32], names[128], signature[SIGNATURE_SIZE];
    struct tm utc;
    time_t now = (time_t)now_s;
    strftime (date, sizeof date, "%Y%m%dT%H%M%SZ", gmtime_r (&now, &utc));
    const struct callback_url *url = &self->url;
    const char *host = strstr (url->text, "://") + 3, *path = url->text + url->origin_size;
    char host_text[CALLBACK_HOST_SIZE + 16];
    snprintf (host_text, sizeof host_text, "%.*s", (int)(path - host), host);
    const char *query = path[url->path_size] ? path + url->path_size + 1 : "";
    const struct signed_request request = {.method = self->is_put ? "PUT" : "POST",
                                           .path = span_of (path, url->path_size),
                                           .query = span_text (query),
                                           .headers = {{"content-type", "application/json"},
                                                       {"host", host_text},
                                                       {"webhook-id", self->id},
                                                       {"x-sdk-date", date}},
                                           .header_count = 4,
                                           .body = span_of (self->body, self->body_size)};
    signature_aksk (&request, date, span_text (secret->sk), signature);
    add_header_line (lines, "X-Sdk-Date: %s", date);
    add_header_line (lines,
                     "Authorization: SDK-HMAC-SHA256 Access=%s, SignedHeaders=%s, Signature=%s",
                     secret->ak, signature_names (&request, names, sizeof names), signature);
}

static void add_standard_signature (struct header_lines *lines, const struct callback *self,
                                    const struct secret *secret, int64_t now_s)
{
    char signatures[SECRET_KEYS_MAX][STANDARD_SIGNATURE_SIZE] = {""};
    for (size_t i = 0; i < secret->key_count; i++)
        signature_standard (span_of (secret->keys[i].bytes, secret->keys[i].size), self->id, now_s,
                            span_of (self->body, self->body_size), signatures[i]);
    add_header_line (lines, "webhook-signature: %s%s%s", signatures[0],
                     secret->key_count > 1 ? " " : "", signatures[1]);
}

size_t callback_write_headers (const struct callback *self, const struct secret *secret,
                               int64_t now_s, char out[CALLBACK_LINES_MAX][CALLBACK_LINE_SIZE])
{
    struct header_lines lines = {out, 0};
    const char *name;
    json_t *value;
    add_header_line (&lines, "Content-Type: application/json");
    add_header_line (&lines, "webhook-id: %s", self->id);
    add_header_line (&lines, "webhook-timestamp: %" PRId64, now_s);
    add_header_line (&lines, "zplan-plan: %s", self->about_plan);
    add_header_line (&lines, "zplan-exec-id: %s", self->about_exec);
    if (self->trace[0])
        add_header_line (&lines, "traceparent: %s", self->trace);
    // libcurl omits a header with nothing after its colon; it sends an empty one for "Name;".
    json_object_foreach (self->headers, name, value)
    {
        if (json_string_length (value))
            add_header_line (&lines, "%s: %s", name, json_string_value (value));
        else
            add_header_line (&lines, "%s;", name);
    }
    if (secret && secret->type == SECRET_AKSK)
        add_aksk_signature (&lines, self, secret, now_s);
    else if (secret && secret->type == SECRET_STANDARD)
        add_standard_signature (&lines, self, secret, now_s);
    else if (secret && secret->type == SECRET_HEADER)
        add_header_line (&lines, "%s: %s", secret->name, secret->value);
    return lines.count;
}
