// Fields are one table; an object inside it has one of its own.
#include "callback_rule.h"

#include <stdlib.h>

#include "callback_header.h"
#include "callback_url.h"
#include "json.h"
#include "policy_private.h"
#include "retry_rule.h"

typedef bool check_fn (const char *name, const json_t *value, struct reason *reason);

struct callback_field {
    const char *name;
    check_fn *check;
};

static bool check_fields (const char *name, const json_t *object,
                          const struct callback_field *fields, size_t count, struct reason *reason)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)object, key, value)
    {
        char path[64];
        size_t at = 0;
        while (at < count && strcmp (fields[at].name, key) != 0)
            at++;
        if (at == count) {
            reason_set (reason, "%s: %s: unknown field", name, quoted (span_text (key)));
            return false;
        }
        snprintf (path, sizeof path, "%s: %s", name, key);
        if (!fields[at].check (path, value, reason))
            return false;
    }
    return true;
}

// -- success and error

static struct span span_of_json (const json_t *text)
{
    return span_of (json_string_value (text), json_string_length (text));
}

// Without a path it is one that was masked.
static bool has_path (struct span url)
{
    const char *text = (const char *)url.data, *host = strstr (text, "://");
    return host && strchr (host + 3, '/');
}

static bool check_url (const char *name, const json_t *value, struct reason *reason)
{
    struct span text = span_of_json (value);
    struct callback_url url;
    struct reason why;
    if (!json_is_string (value) || memchr (json_string_value (value), 0, text.size)) {
        reason_set (reason, "%s: want a URL, or @NAME of one that the sender knows", name);
        return false;
    }
    if (text.size && text.data[0] == '@') {
        if (callback_name_valid (span_of (text.data + 1, text.size - 1)))
            return true;
        reason_set (reason, "%s: want @ and 1..%d of A-Z a-z 0-9 _ . -", name, CALLBACK_NAME_MAX);
        return false;
    }
    if (callback_url_read (text, &url, &why)) {
        reason_set (reason, "%s: %s", name, why.text);
        return false;
    }
    if (!has_path (text))
        reason_set (reason, "%s: want a path, / at least; without one it is a masked URL", name);
    return has_path (text);
}

static bool check_method (const char *name, const json_t *value, struct reason *reason)
{
    static const char *const words[] = {"POST", "PUT"};
    if (word_of (words, 2, value) >= 0)
        return true;
    reason_set (reason, "%s: want POST or PUT", name);
    return false;
}

static const struct callback_field end_fields[] = {{"url", check_url}, {"method", check_method}};

static bool check_end (const char *name, const json_t *value, struct reason *reason)
{
    if (!json_object_get (value, "url")) {
        reason_set (reason, "%s: want an object with url, and method", name);
        return false;
    }
    return check_fields (name, value, end_fields, sizeof end_fields / sizeof *end_fields, reason);
}

// -- the rest

static bool check_secret (const char *name, const json_t *value, struct reason *reason)
{
    if (json_is_string (value) && callback_name_valid (span_of_json (value)))
        return true;
    reason_set (reason, "%s: want the name of a secret, 1..%d of A-Z a-z 0-9 _ . -", name,
                CALLBACK_NAME_MAX);
    return false;
}

static bool check_form (const char *name, const json_t *value, struct reason *reason)
{
    static const char *const words[] = {"task", "event"};
    if (word_of (words, 2, value) >= 0)
        return true;
    reason_set (reason, "%s: want task or event", name);
    return false;
}

static bool check_when (const char *name, const json_t *value, struct reason *reason)
{
    static const char *const words[] = {"final", "each"};
    if (word_of (words, 2, value) >= 0)
        return true;
    reason_set (reason, "%s: want final or each", name);
    return false;
}

static bool check_timeout (const char *name, const json_t *value, struct reason *reason)
{
    json_int_t seconds = json_integer_value (value);
    if (json_is_integer (value) && seconds >= 1 && seconds <= CALLBACK_TIMEOUT_MAX)
        return true;
    reason_set (reason, "%s: want seconds, 1..%d", name, CALLBACK_TIMEOUT_MAX);
    return false;
}

static bool check_retry (const char *name, const json_t *value, struct reason *reason)
{
    struct retry_policy retry;
    struct reason why;
    (void)name;
    if (retry_rule_read (value, &retry, &why))
        return true;
    reason_set (reason, "callback: %s", why.text);
    return false;
}

static bool check_headers (const char *name, const json_t *value, struct reason *reason)
{
    const char *header;
    json_t *text;
    struct reason why;
    if (!json_is_object (value) || json_object_size (value) > CALLBACK_HEADERS_MAX) {
        reason_set (reason, "%s: want an object of at most %d headers", name, CALLBACK_HEADERS_MAX);
        return false;
    }
    json_object_foreach ((json_t *)value, header, text)
    {
        bool good = json_is_string (text);
        if (!good)
            reason_set (&why, "%s: want a string", quoted (span_text (header)));
        if (!good || callback_header_check (span_text (header), span_of_json (text), &why)) {
            reason_set (reason, "%s: %s", name, why.text);
            return false;
        }
    }
    return true;
}

static const struct callback_field fields[] = {
    {"success", check_end}, {"error", check_end},       {"secret", check_secret},
    {"form", check_form},   {"when", check_when},       {"timeout", check_timeout},
    {"retry", check_retry}, {"headers", check_headers},
};

bool callback_rule_check (const json_t *object, struct reason *reason)
{
    if (!json_is_object (object) ||
        (!json_object_get (object, "success") && !json_object_get (object, "error"))) {
        reason_set (reason, "callback: want an object with success, error or both");
        return false;
    }
    return check_fields ("callback", object, fields, sizeof fields / sizeof *fields, reason);
}

// -- masked

json_t *callback_masked_url (const json_t *text)
{
    struct callback_url url;
    struct reason ignored;
    if (json_string_length (text) && json_string_value (text)[0] == '@')
        return json_deep_copy (text);
    bool known = json_is_string (text) && !callback_url_read (span_of_json (text), &url, &ignored);
    return known ? json_stringn (url.text, url.origin_size) : json_string ("(masked)");
}

static void mask (json_t *end)
{
    const json_t *text = json_object_get (end, "url");
    if (text)
        json_object_set_new (end, "url", callback_masked_url (text));
}

json_t *callback_rule_masked (const json_t *object)
{
    json_t *copy = json_deep_copy (object);
    mask (json_object_get (copy, "success"));
    mask (json_object_get (copy, "error"));
    return copy;
}

json_t *callback_masked_frame (struct span frame)
{
    struct reason ignored;
    json_t *object = json_read_object (frame, &ignored), *callback;
    if (!object) // msgpack is not supported here
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
