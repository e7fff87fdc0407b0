// Values are checked by the rules of the PLAN frame, one member at a time, so that the reason can
// name the option.
#include "terms.h"

#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "instant.h"
#include "policy.h"
#include "retry_option.h"
#include "settings.h"

static const struct option rows[] = {
#define POLICY(...) __VA_ARGS__,
#define NAMES(...)
#define OPTION(heading, field, option, value, says, text, ...)                                     \
    heading (TEXT_OPTION (struct terms, field, option, says, text, .utf8 = true, __VA_ARGS__))
#include "policy_fields.def"
#undef POLICY
#undef NAMES
};

static const struct option names[] = {
#define POLICY(...)
#define NAMES(...) __VA_ARGS__,
#define OPTION(heading, field, option, value, says, text, ...)                                     \
    heading (TEXT_OPTION (struct terms, field, option, says, text, .utf8 = true, __VA_ARGS__))
#include "policy_fields.def"
};

const struct term terms_table[TERMS] = {
#define OPTION(heading, field, option, value, ...)                                                 \
    {#field, option, TERM_##value, offsetof (struct terms, field)},
#include "policy_fields.def"
};

struct option_group terms_options (struct terms *terms)
{
    return (struct option_group)OPTION_GROUP ("Policy", rows, terms);
}

struct option_group terms_names (struct terms *terms)
{
    return (struct option_group)OPTION_GROUP ("Names", names, terms);
}

struct option_group terms_names_changed (struct terms *terms)
{
    static struct option changed[sizeof names / sizeof *names];
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].offset != offsetof (struct terms, key) &&
            names[i].offset != offsetof (struct terms, kind) &&
            names[i].offset != offsetof (struct terms, if_exists))
            changed[count++] = names[i];
    return (struct option_group){"Names", changed, count, terms};
}

// -- values

// The input of a function that makes a member's value: it returns NULL with the reason, or JSON
// null to omit the member.
struct making {
    const char *text;
    const struct terms_reading *reading;
    struct reason *reason;
};

typedef json_t *make_fn (const struct making *self);

static json_t *make_text (const struct making *self)
{
    return json_string (self->text);
}

json_t *terms_number (const char *text)
{
    int64_t number;
    return text && number_parse (text, &number) ? json_integer (number) : json_string (text);
}

// The member's check decides whether a text that is not a number is valid.
static json_t *make_number (const struct making *self)
{
    return terms_number (self->text);
}

static json_t *make_seconds (const struct making *self)
{
    int64_t seconds;
    if (duration_seconds (self->text, &seconds))
        return json_integer (seconds);
    reason_set (self->reason, "want a duration as 30s, 90m, 1h30m or 2d, got %s",
                quoted (span_text (self->text)));
    return NULL;
}

static json_t *make_instant (const struct making *self)
{
    int64_t time;
    bool read = instant_parse (self->text, self->reading->zone, &time, self->reason) == 0;
    return read ? json_integer (time) : NULL;
}

static json_t *make_json (const struct making *self)
{
    json_error_t why;
    json_t *value = json_loads (self->text, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        reason_set (self->reason, "JSON: %s", why.text);
    return value;
}

static json_t *make_retry (const struct making *self)
{
    return retry_read (self->text, self->reason);
}

// Make a number of runs of "5", or a list of waits of "2,3,5".
static json_t *make_cycle (const struct making *self)
{
    enum { DIGITS_MAX = 5 };
    if (!strchr (self->text, ','))
        return make_number (self);
    json_t *list = json_array ();
    for (const char *at = self->text;; at++) {
        size_t digits = strspn (at, "0123456789");
        int64_t number = digits <= DIGITS_MAX ? strtol (at, NULL, 10) : 0;
        at += digits;
        if (digits < 1 || digits > DIGITS_MAX || (*at && *at != ',')) {
            reason_set (self->reason, "want a number of runs, or waits as 2,3,5, got %s",
                        quoted (span_text (self->text)));
            json_decref (list);
            return NULL;
        }
        json_array_append_new (list, json_integer (number * self->reading->step));
        if (!*at)
            return list;
    }
}

// -- members

static make_fn *const makers[TERM_VALUES] = {
    [TERM_TEXT] = make_text,       [TERM_NUMBER] = make_number, [TERM_SECONDS] = make_seconds,
    [TERM_INSTANT] = make_instant, [TERM_OBJECT] = make_json,   [TERM_RETRY] = make_retry,
    [TERM_CYCLE] = make_cycle,
};

// Find the option for this member; NULL: there is none.
static const char *option_of (struct span name)
{
    // The options of times are not in terms_table, but in when.c.
    static const struct {
        const char *field, *option;
    } times[] = {{"cron", "--cron"}, {"timezone", "--timezone"}, {"start_time", "--start"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (span_is (name, times[i].field))
            return times[i].option;
    for (size_t i = 0; i < TERMS; i++)
        if (span_is (name, terms_table[i].field))
            return terms_table[i].option;
    return NULL;
}

// Replace the name of a member, with which a reason begins, by its option.
void terms_reason (const struct reason *why, struct reason *ret)
{
    struct span name = span_of (why->text, strcspn (why->text, ": "));
    const char *option = option_of (name);
    if (!option)
        *ret = *why;
    else // replace the wire's name of the member
        reason_set (ret, "%s%.170s", option, why->text + name.size);
}

int terms_put (json_t *members, const char *name, json_t *value, struct reason *reason)
{
    struct reason why;
    json_t *alone = json_object ();
    if (json_object_set_new (alone, name, value)) { // jansson accepts only UTF-8
        reason_set (&why, "%s: want UTF-8", name);
        terms_reason (&why, reason);
        json_decref (alone);
        return -1;
    }
    struct policy *policy = policy_read (alone, &why);
    bool right = policy != NULL;
    if (right)
        json_object_update (members, alone);
    else
        terms_reason (&why, reason);
    policy_destroy (&policy);
    json_decref (alone);
    return right ? 0 : -1;
}

static int put_member (const struct term *term, const char *text,
                       const struct terms_reading *reading, json_t *members, struct reason *reason)
{
    struct reason why;
    if (reading->use == TERMS_CHANGED && strcmp (text, "-") == 0)
        return json_object_set_new (members, term->field, json_null ());
    json_t *value = makers[term->value](&(struct making){text, reading, &why});
    if (json_is_null (value)) // the option's value means that the member is absent
        return reading->use == TERMS_CHANGED ? json_object_set (members, term->field, value) : 0;
    if (value)
        return terms_put (members, term->field, value, reason);
    return reason_set (reason, "%s: %.170s", term->option, why.text);
}

// Make the member `on_failure` from two options.
static int put_on_failure (const struct terms *terms, const struct terms_reading *reading,
                           json_t *members, struct reason *reason)
{
    if (!terms->on_failure && !terms->on_failure_target)
        return 0;
    if (!terms->on_failure)
        return reason_set (reason, "--on-failure-target: goes with --on-failure only");
    if (reading->use == TERMS_CHANGED && strcmp (terms->on_failure, "-") == 0)
        return json_object_set_new (members, "on_failure", json_null ());
    return terms_put (members, "on_failure",
                      json_pack ("{s:s, s:s*}", "command", terms->on_failure, "station",
                                 terms->on_failure_target),
                      reason);
}

// Make the member `callback` from three options.
static int put_callback (const struct terms *terms, const struct terms_reading *reading,
                         json_t *members, struct reason *reason)
{
    static const char *const ends[] = {"success", "error"};
    const char *on = terms->callback_on;
    if (!terms->callback && (on || terms->secret))
        return reason_set (reason, "%s: goes with --callback only",
                           on ? "--callback-on" : "--secret");
    if (!terms->callback)
        return 0;
    if (reading->use == TERMS_CHANGED && strcmp (terms->callback, "-") == 0)
        return json_object_set_new (members, "callback", json_null ());
    if (on && strcmp (on, ends[0]) != 0 && strcmp (on, ends[1]) != 0)
        return reason_set (reason, "--callback-on: want success or error");
    json_t *callback = json_object ();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!on || strcmp (on, ends[i]) == 0)
            json_object_set_new (callback, ends[i], json_pack ("{s:s}", "url", terms->callback));
    if (terms->secret)
        json_object_set_new (callback, "secret", json_string (terms->secret));
    return terms_put (members, "callback", callback, reason);
}

int terms_read (const struct terms *terms, const struct terms_reading *reading, json_t *members,
                struct reason *reason)
{
    if (terms->if_exists && !terms->key)
        return reason_set (reason, "--if-exists: goes with --name only");
    for (size_t i = 0; i < TERMS; i++) {
        const struct term *term = &terms_table[i];
        const char *text = *(const char *const *)((const uint8_t *)terms + term->offset);
        if (text && term->value != TERM_PART && put_member (term, text, reading, members, reason))
            return -1;
    }
    int rc = put_on_failure (terms, reading, members, reason);
    return rc ? rc : put_callback (terms, reading, members, reason);
}
