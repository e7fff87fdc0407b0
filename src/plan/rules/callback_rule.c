#include "callback_rule.h"

#include <stdlib.h>

#include "callback_header.h"
#include "callback_url.h"
#include "json.h"
#include "json_fields.h"
#include "retry_rule.h"

// -- the fields success and error

// Whether the URL has a path; a masked one has none.
static bool has_path (struct span url)
{
    const char *text = (const char *)url.data, *host = strstr (text, "://");
    return host && strchr (host + 3, '/');
}

// Check `url`: a URL with a path, or @NAME.
static bool check_url_field (void *none, const json_t *value, struct reason *reason)
{
    struct span text = json_span (value);
    struct callback_url url;
    (void)none;
    if (!json_is_string (value) || memchr (json_string_value (value), 0, text.size))
        return reason_reject (reason, "want a URL, or @NAME of one that the sender knows");
    if (text.size && text.data[0] == '@') {
        if (callback_name_valid (span_of (text.data + 1, text.size - 1)))
            return true;
        return reason_reject (reason, "want @ and 1..%d of A-Z a-z 0-9 _ . -", CALLBACK_NAME_MAX);
    }
    if (callback_url_read (text, &url, reason))
        return false;
    if (!has_path (text))
        reason_set (reason, "want a path, / at least; without one it is a masked URL");
    return has_path (text);
}

// Check `success` or `error`: an object with url, and maybe method.
static bool check_endpoint (void *none, const json_t *value, struct reason *reason)
{
    static const char *const methods[] = {"POST", "PUT"};
    static const struct json_field fields[] = {
        {"url", .read_with_reason = check_url_field},
        {"method", AS_WORD, JSON_NOWHERE, 0, 2, .words = methods}};
    (void)none;
    if (json_object_get (value, "url"))
        return json_fields_read (value, fields, sizeof fields / sizeof *fields, NULL, reason);
    return reason_reject (reason, "want an object with url, and method");
}

// -- the other fields

static bool check_secret_name (void *none, const json_t *value, struct reason *reason)
{
    (void)none;
    if (json_is_string (value) && callback_name_valid (json_span (value)))
        return true;
    return reason_reject (reason, "want the name of a secret, 1..%d of A-Z a-z 0-9 _ . -",
                          CALLBACK_NAME_MAX);
}

static bool check_callback_retry (void *none, const json_t *value, struct reason *reason)
{
    struct retry_policy retry;
    (void)none;
    return retry_rule_read (&retry, value, reason);
}

static bool check_headers (void *none, const json_t *value, struct reason *reason)
{
    const char *header;
    json_t *text;
    (void)none;
    if (!json_is_object (value) || json_object_size (value) > CALLBACK_HEADERS_MAX)
        return reason_reject (reason, "want an object of at most %d headers", CALLBACK_HEADERS_MAX);
    json_object_foreach ((json_t *)value, header, text)
    {
        bool good = json_is_string (text);
        if (!good)
            reason_set (reason, "%s: want a string", quoted (span_text (header)));
        if (!good || callback_header_check (span_text (header), json_span (text), reason))
            return false;
    }
    return true;
}

static const char *const forms[] = {"task", "event"}, *const whens[] = {"final", "each"};

static const struct json_field fields[] = {
    {"success", .read_with_reason = check_endpoint},
    {"error", .read_with_reason = check_endpoint},
    {"secret", .read_with_reason = check_secret_name},
    {"form", AS_WORD, JSON_NOWHERE, 0, 2, .words = forms},
    {"when", AS_WORD, JSON_NOWHERE, 0, 2, .words = whens},
    {"timeout", AS_SECONDS, JSON_NOWHERE, 1, CALLBACK_TIMEOUT_MAX},
    {"retry", .read_with_reason = check_callback_retry},
    {"headers", .read_with_reason = check_headers},
};

bool callback_rule_check (void *none, const json_t *object, struct reason *reason)
{
    (void)none;
    if (json_object_get (object, "success") || json_object_get (object, "error"))
        return json_fields_read (object, fields, sizeof fields / sizeof *fields, NULL, reason);
    return reason_reject (reason, "want an object with success, error or both");
}

// -- masking

json_t *callback_masked_url (const json_t *text)
{
    struct callback_url url;
    struct reason ignored;
    if (json_string_length (text) && json_string_value (text)[0] == '@')
        return json_deep_copy (text);
    bool known = json_is_string (text) && !callback_url_read (json_span (text), &url, &ignored);
    return known ? json_stringn (url.text, url.origin_size) : json_string ("(masked)");
}

static void mask_endpoint_url (json_t *end)
{
    const json_t *text = json_object_get (end, "url");
    if (text)
        json_object_set_new (end, "url", callback_masked_url (text));
}

json_t *callback_rule_masked (const json_t *object)
{
    json_t *copy = json_deep_copy (object);
    mask_endpoint_url (json_object_get (copy, "success"));
    mask_endpoint_url (json_object_get (copy, "error"));
    return copy;
}

json_t *callback_masked_frame (struct span frame)
{
    struct reason ignored;
    json_t *object = json_read_object (frame, &ignored), *callback;
    if (!object) // a msgpack frame
        return json_string ("(masked)");
    callback = json_object_get (object, "callback");
    if (callback)
        json_object_set_new (object, "callback", callback_rule_masked (callback));
    char *text = json_write (object);
    json_t *masked = json_string (text);
    free (text);
    json_decref (object);
    return masked;
}
