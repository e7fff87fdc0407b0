#include "target_settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "limit_rule.h"
#include "socket.h"

// Take the text up to the separator, and skip that; without a separator take the rest.
static struct span parse_part (const char **text, char separator)
{
    const char *start = *text;
    const char *end = strchr (start, separator);
    *text = end ? end + 1 : start + strlen (start);
    return span_of (start, end ? (size_t)(end - start) : strlen (start));
}

static int copy_part (struct span part, const char *what, char *out, size_t size,
                      struct reason *reason)
{
    if (part.size == 0 || part.size >= size)
        return reason_set (reason, "stations: %s: want 1..%zu bytes", what, size - 1);
    memcpy (out, part.data, part.size);
    out[part.size] = '\0';
    return 0;
}

// -- options

static bool read_dialect (const char *value, struct target_settings *ret)
{
    return dialect_parse (value, &ret->dialect);
}

static bool read_mailbox (const char *value, struct target_settings *ret)
{
    ret->by_identity = strcmp (value, "identity") == 0;
    return ret->by_identity || strcmp (value, "frame") == 0;
}

static bool read_key (const char *value, struct target_settings *ret)
{
    size_t size = strlen (value);
    if (size < 1 || size > SERVICE_KEY_MAX)
        return false;
    memcpy (ret->key, value, size + 1);
    return true;
}

static bool read_curve (const char *value, struct target_settings *ret)
{
    if (!curve_key_valid (value))
        return false;
    memcpy (ret->curve, value, sizeof ret->curve);
    return true;
}

static bool read_kind (const char *value, struct target_settings *ret)
{
    size_t size = strlen (value);
    if (size > POLICY_NAME_MAX || !station_name_valid (span_text (value)))
        return false;
    memcpy (ret->kind, value, size + 1);
    return true;
}

static const struct target_option {
    const char *name;
    bool (*read) (const char *value, struct target_settings *ret); // NULL: limit_option_read
    const char *rule;
} options[] = {
    {"dialect", read_dialect, "want zeronet or microzero"},
    {"mailbox", read_mailbox, "want frame or identity"},
    {"key", read_key, "want a text of 1..255 bytes without a comma"},
    {"curve", read_curve, "want the target's public key, 40 characters of Z85"},
    {"concurrency", NULL, "want 1..10000 concurrent runs"},
    {"rate", NULL, "want starts per second, 0.000001..1000000"},
    {"burst", NULL, "want 1..1000000 runs"},
    {"kind", read_kind, "want the name of a kind, 1..64 of A-Z a-z 0-9 _ . -"},
};

static int read_option (struct span text, struct target_settings *ret, struct reason *reason)
{
    const uint8_t *equals = memchr (text.data, '=', text.size);
    struct span name = span_of (text.data, equals ? (size_t)(equals - text.data) : text.size);
    char value[SERVICE_KEY_MAX + 1] = "";
    size_t size = equals ? text.size - name.size - 1 : 0;
    if (size < sizeof value && size)
        memcpy (value, equals + 1, size);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!span_is (name, options[i].name))
            continue;
        const struct target_option *option = &options[i];
        if (equals && size < sizeof value &&
            (option->read ? option->read (value, ret)
                          : limit_option_read (option->name, value, &ret->limit)))
            return 0;
        // The reason must not quote the value: it may be a key.
        return reason_set (reason, "stations: %s: %s: %s", ret->name, option->name, option->rule);
    }
    // After a key this may be the rest of the key, which must not be shown.
    return reason_set (reason,
                       "stations: %s: %s: no such option; there are dialect, mailbox, key, curve, "
                       "concurrency, rate, burst and kind",
                       ret->name,
                       ret->key[0] ? "after the key, which has no comma" : quoted (name));
}

// -- the whole text

static int read_type (const char **rest, struct target_settings *ret, struct reason *reason)
{
    char type[16];
    struct span type_text = parse_part (rest, '@');
    if (copy_part (type_text, "type", type, sizeof type, reason))
        return -1;
    int number = target_type_parse (type);
    if (number < 0 || number == TARGET_PULL) { // pull has no endpoint
        return reason_set (
            reason,
            "stations: %s: want TYPE@ENDPOINT with the type api, pub or vote, or pull "
            "alone, got %s",
            ret->name, quoted (type_text));
    }
    ret->type = (enum target_type)number;
    return copy_part (parse_part (rest, ','), "endpoint", ret->endpoint, sizeof ret->endpoint,
                      reason) ||
                   endpoint_check (ret->endpoint, reason)
               ? -1
               : 0;
}

int target_settings_parse (const char *text, struct target_settings *ret, struct reason *reason)
{
    const char *rest = text;
    *ret = (struct target_settings){.origin = ret->origin};
    struct span name = parse_part (&rest, '=');
    bool pull = strcmp (rest, "pull") == 0 || strncmp (rest, "pull,", 5) == 0;
    if (!station_name_valid (name) || !*rest || (!pull && !strchr (rest, '@')))
        return reason_set (
            reason,
            "stations: want NAME=TYPE@ENDPOINT or NAME=pull, NAME of 1..64 A-Z a-z 0-9 _ . "
            "-, got %s...",
            quoted (name));
    memcpy (ret->name, name.data, name.size);
    if (pull) {
        ret->type = TARGET_PULL;
        parse_part (&rest, ',');
    } else if (read_type (&rest, ret, reason)) {
        return -1;
    }
    bool ends_well = text[strlen (text) - 1] != ',';
    while (*rest)
        if (read_option (parse_part (&rest, ','), ret, reason))
            return -1;
    if (!ends_well)
        return read_option (span_text (""), ret, reason);
    return 0;
}

void target_settings_text (const struct target_settings *self, char out[TARGET_TEXT_MAX])
{
    const struct limit limit = self->limit;
    bool pull = self->type == TARGET_PULL;
    FILE *text = fmemopen (out, TARGET_TEXT_MAX, "w"); // the text of any target fits
    fprintf (text, "%s=%s%s%s", self->name, target_type_name (self->type), pull ? "" : "@",
             pull ? "" : self->endpoint);
    if (self->dialect != DIALECT_ZERONET)
        fprintf (text, ",dialect=%s", dialect_name (self->dialect));
    if (self->by_identity)
        fprintf (text, ",mailbox=identity");
    if (self->curve[0])
        fprintf (text, ",curve=%s", self->curve);
    if (self->kind[0])
        fprintf (text, ",kind=%s", self->kind);
    if (limit.concurrency)
        fprintf (text, ",concurrency=%" PRId64, limit.concurrency);
    if (limit.rate > 0) // no exponent, as the parser rejects it
        fprintf (text, limit.rate < 0.0001 ? ",rate=%.12f" : ",rate=%.10g", limit.rate);
    if (limit.burst)
        fprintf (text, ",burst=%" PRId64, limit.burst);
    fclose (text);
}

bool target_settings_equal (const struct target_settings *a, const struct target_settings *b)
{
    return strcmp (a->name, b->name) == 0 && a->type == b->type &&
           strcmp (a->endpoint, b->endpoint) == 0 && a->dialect == b->dialect &&
           a->by_identity == b->by_identity && strcmp (a->key, b->key) == 0 &&
           strcmp (a->curve, b->curve) == 0 && limit_equal (&a->limit, &b->limit) &&
           strcmp (a->kind, b->kind) == 0;
}

const char *origin_name (enum origin origin)
{
    static const char *const names[] = {
        [ORIGIN_SETTINGS] = "settings", [ORIGIN_ADDED] = "added", [ORIGIN_CENTER] = "center"};
    return names[origin];
}
