// Texts of settings and arguments: input is a kind, and the text.
#include "address.h"
#include "base64.h"
#include "center.h"
#include "context.h"
#include "fuzz.h"
#include "ident.h"
#include "rfc3339.h"
#include "schedule.h"
#include "settings_table.h"
#include "tzrule.h"

static void check_station (const char *text)
{
    struct target_settings target = {.origin = ORIGIN_ADDED}, again = {.origin = ORIGIN_ADDED};
    struct reason reason = {""};
    if (target_settings_parse (text, &target, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (station_name_valid (span_text (target.name)));
    HOLDS (!strchr (target.key, ',') && target.origin == ORIGIN_ADDED);
    if (target.type == TARGET_PULL) { // it has no endpoint: workers fetch its plans
        HOLDS (!*target.endpoint);
        return;
    }
    HOLDS (endpoint_check (target.endpoint, &reason) == 0);
    char canonical[TARGET_TEXT_MAX];
    snprintf (canonical, sizeof canonical, "%s=%s@%s,dialect=%s,mailbox=%s%s%s", target.name,
              target_type_name (target.type), target.endpoint, dialect_name (target.dialect),
              target.by_identity ? "identity" : "frame", target.key[0] ? ",key=" : "", target.key);
    HOLDS (target_settings_parse (canonical, &again, &reason) == 0);
    // The canonical text omits these.
    memcpy (again.curve, target.curve, sizeof again.curve);
    memcpy (again.kind, target.kind, sizeof again.kind);
    again.limit = target.limit;
    HOLDS (target_settings_equal (&target, &again));
}

static void check_address (const char *text)
{
    struct address address, again;
    struct reason reason = {""};
    char shown[300], whole[600];
    if (address_parse (text, &address, &reason)) {
        check_reason (&reason);
        return;
    }
    if (address.kind == ADDRESS_EMBEDDED)
        return;
    HOLDS (address.sentinel_count <= SENTINELS_MAX);
    HOLDS ((address.kind == ADDRESS_SENTINEL) == (address.sentinel_count > 0));
    if (address.kind == ADDRESS_SENTINEL)
        return; // its shown text has only the name, and cannot be parsed again
    address_text (&address, shown);
    snprintf (whole, sizeof whole, "%s%s%s", shown, address.password[0] ? ":" : "",
              address.password);
    HOLDS (address_parse (whole, &again, &reason) == 0);
    HOLDS (again.kind == address.kind && again.port == address.port);
    HOLDS (strcmp (again.host, address.host) == 0);
    HOLDS (strcmp (again.password, address.password) == 0);
}

static void check_center (const char *text)
{
    struct center_settings center;
    struct reason reason = {""};
    if (center_settings_parse (text, &center, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (center.host[0] && center.port >= 1 && center.port < 65535);
}

// Check NAME=VALUE, as in --set, for every setting.
static void check_setting (struct feed *feed, struct span text)
{
    static struct station_settings settings;
    const uint8_t *equals = text.size ? memchr (text.data, '=', text.size) : NULL;
    if (!equals)
        return;
    size_t size = (size_t)(equals - text.data);
    const char *name = feed_string (feed, span_of (text.data, size));
    const char *value = feed_string (feed, span_of (equals + 1, text.size - size - 1));
    const struct setting *row = settings_named (&station_setting_table, name);
    struct reason reason = {""};
    if (!row)
        return;
    settings_reset (&station_setting_table, &settings);
    settings.target_count = 0;
    if (setting_set (row, &settings, value, &reason) ||
        station_settings_check (&settings, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (settings.target_count <= 1);
    if (row->type == SETTING_NUMBER) {
        int64_t number;
        memcpy (&number, (const uint8_t *)&settings + row->offset, sizeof number);
        HOLDS (number >= row->min && number <= row->max);
    }
}

static void check_time (struct span text)
{
    struct reason reason = {""};
    char out[RFC3339_SIZE];
    int64_t time, again;
    if (rfc3339_parse (text, &time, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (time >= 0 && time <= SCHEDULE_TIME_MAX);
    rfc3339_format (time, out);
    HOLDS (rfc3339_parse (span_text (out), &again, &reason) == 0 && again == time);
}

static void check_ident (struct span text)
{
    uint64_t id, again;
    char out[IDENT_SIZE];
    if (!ident_parse (text, &id))
        return;
    HOLDS (ident_parse (span_text (ident_text (id, out)), &again) && again == id);
    HOLDS (id > 0 && id <= INT64_MAX && strlen (out) <= text.size);
}

static void check_base64 (struct span text)
{
    uint8_t *out = malloc (text.size / 4 * 3 + 1), *again = malloc (text.size / 4 * 3 + 1);
    char *encoded = malloc (text.size + 8);
    size_t size, size_again;
    HOLDS (out && again && encoded);
    if (base64_decode (text, out, &size)) {
        HOLDS (size <= text.size / 4 * 3);
        base64_encode (span_of (out, size), encoded);
        HOLDS (strlen (encoded) == text.size);
        HOLDS (base64_decode (span_text (encoded), again, &size_again));
        HOLDS (span_equal (span_of (out, size), span_of (again, size_again)));
    }
    free (encoded);
    free (again);
    free (out);
}

static void check_rule (struct span text)
{
    struct tzrule rule;
    if (!tzrule_parse (text, &rule))
        return;
    for (uint64_t i = 0; i < 8; i++) {
        int64_t instant = (int64_t)(feed_hash (text, i) >> (i % 2 ? 33 : 22));
        struct tzrule_stretch stretch = tzrule_stretch (&rule, instant);
        HOLDS (stretch.begin <= instant && stretch.end > instant);
        // Before the next transition the offset does not change.
        if (stretch.end != INT64_MAX)
            HOLDS (stretch.offset == tzrule_stretch (&rule, stretch.end - 1).offset);
    }
}

static void check_number (const char *text)
{
    int64_t number, again;
    char out[24];
    if (!number_parse (text, &number))
        return;
    snprintf (out, sizeof out, "%lld", (long long)number);
    HOLDS (number_parse (out, &again) && again == number);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    uint8_t kind = feed_byte (&feed);
    struct span text = feed_text (&feed);
    const char *string = feed_string (&feed, text);
    switch (kind) {
    case 'S':
        check_station (string);
        break;
    case 'A':
        check_address (string);
        break;
    case 'C':
        check_center (string);
        break;
    case '=':
        check_setting (&feed, text);
        break;
    case 'T':
        check_time (text);
        break;
    case 'Z':
        check_rule (text);
        break;
    case 'B':
        check_base64 (text);
        break;
    default:
        check_ident (text);
        check_number (string);
    }
    feed_free (&feed);
    return 0;
}
