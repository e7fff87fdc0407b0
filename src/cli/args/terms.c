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

json_t *terms_number (const char *text)
{
    int64_t number;
    return text && number_parse (text, &number) ? json_integer (number) : json_string (text);
}

// Make a list of waits of "2,3,5", each a multiple of `step`. NULL with a reason.
static json_t *make_waits (const char *text, int64_t step, struct reason *reason)
{
    enum { DIGITS_MAX = 5 };
    json_t *list = json_array ();
    for (const char *at = text;; at++) {
        size_t digits = strspn (at, "0123456789");
        int64_t number = digits <= DIGITS_MAX ? strtol (at, NULL, 10) : 0;
        at += digits;
        if (digits < 1 || digits > DIGITS_MAX || (*at && *at != ',')) {
            reason_set (reason, "want a number of runs, or waits as 2,3,5, got %s",
                        quoted (span_text (text)));
            json_decref (list);
            return NULL;
        }
        json_array_append_new (list, json_integer (number * step));
        if (!*at)
            return list;
    }
}

// Make a member's value. NULL with a reason; JSON null: the option means that the member is absent.
static json_t *make_value (enum term_value type, const char *text,
                           const struct terms_context *context, struct reason *reason)
{
    int64_t number;
    json_error_t why;
    json_t *value;
    switch (type) {
    case TERM_TEXT:
        return json_string (text);
    case TERM_NUMBER: // the member's check decides whether a text that is no number is valid
        return terms_number (text);
    case TERM_SECONDS:
        if (duration_seconds (text, &number))
            return json_integer (number);
        reason_set (reason, "want a duration as 30s, 90m, 1h30m or 2d, got %s",
                    quoted (span_text (text)));
        return NULL;
    case TERM_INSTANT:
        return instant_parse (text, context->zone, &number, reason) ? NULL : json_integer (number);
    case TERM_OBJECT:
        value = json_loads (text, JSON_REJECT_DUPLICATES, &why);
        if (!value)
            reason_set (reason, "JSON: %s", why.text);
        return value;
    case TERM_RETRY:
        return retry_read (text, reason);
    case TERM_CYCLE:
        return strchr (text, ',') ? make_waits (text, context->step, reason) : terms_number (text);
    case TERM_PART:
        break;
    }
    return NULL;
}

// -- members

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

void terms_reason (const struct reason *why, struct reason *ret)
{
    struct span name = span_of (why->text, strcspn (why->text, ": "));
    const char *option = option_of (name);
    if (!option)
        *ret = *why;
    else
        reason_set (ret, "%s%.170s", option, why->text + name.size);
}

int terms_put (json_t *members, const char *name, json_t *value, struct reason *reason)
{
    struct reason why;
    struct policy *policy = NULL;
    json_t *alone = json_object ();
    if (json_object_set_new (alone, name, value)) // jansson accepts only UTF-8
        reason_set (&why, "%s: want UTF-8", name);
    else
        policy = policy_read (alone, &why);
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
                       const struct terms_context *context, json_t *members, struct reason *reason)
{
    struct reason why;
    if (context->use == TERMS_CHANGED && strcmp (text, "-") == 0)
        return json_object_set_new (members, term->field, json_null ());
    json_t *value = make_value (term->value, text, context, &why);
    if (json_is_null (value)) // the option's value means that the member is absent
        return context->use == TERMS_CHANGED ? json_object_set (members, term->field, value) : 0;
    if (value)
        return terms_put (members, term->field, value, reason);
    return reason_set (reason, "%s: %.170s", term->option, why.text);
}

// Make the member `on_failure` from two options.
static int put_on_failure (const struct terms *terms, const struct terms_context *context,
                           json_t *members, struct reason *reason)
{
    if (!terms->on_failure && !terms->on_failure_target)
        return 0;
    if (!terms->on_failure)
        return reason_set (reason, "--on-failure-target: goes with --on-failure only");
    if (context->use == TERMS_CHANGED && strcmp (terms->on_failure, "-") == 0)
        return json_object_set_new (members, "on_failure", json_null ());
    return terms_put (members, "on_failure",
                      json_pack ("{s:s, s:s*}", "command", terms->on_failure, "station",
                                 terms->on_failure_target),
                      reason);
}

// Make the member `callback` from three options.
static int put_callback (const struct terms *terms, const struct terms_context *context,
                         json_t *members, struct reason *reason)
{
    static const char *const ends[] = {"success", "error"};
    const char *on = terms->callback_on;
    if (!terms->callback && (on || terms->secret))
        return reason_set (reason, "%s: goes with --callback only",
                           on ? "--callback-on" : "--secret");
    if (!terms->callback)
        return 0;
    if (context->use == TERMS_CHANGED && strcmp (terms->callback, "-") == 0)
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

int terms_read (const struct terms *terms, const struct terms_context *context, json_t *members,
                struct reason *reason)
{
    if (terms->if_exists && !terms->key)
        return reason_set (reason, "--if-exists: goes with --name only");
    for (size_t i = 0; i < TERMS; i++) {
        const struct term *term = &terms_table[i];
        const char *text = *(const char *const *)((const uint8_t *)terms + term->offset);
        if (text && term->value != TERM_PART && put_member (term, text, context, members, reason))
            return -1;
    }
    int rc = put_on_failure (terms, context, members, reason);
    return rc ? rc : put_callback (terms, context, members, reason);
}
