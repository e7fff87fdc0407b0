#include "vote_rule.h"

enum { COUNT_MAX = 1000000, DEADLINE_MAX = 31536000 };

static const char *const names[] = {
    [VOTE_ALL] = "all", [VOTE_ANY] = "any", [VOTE_MAJORITY] = "majority"};

static bool read_need (const json_t *value, struct vote_rule *ret, struct reason *reason)
{
    json_int_t count = json_integer_value (value);
    ret->need = VOTE_COUNT;
    ret->count = (int32_t)count;
    if (json_is_integer (value) && count >= 1 && count <= COUNT_MAX)
        return true;
    for (size_t i = VOTE_ALL; i < sizeof names / sizeof *names; i++) {
        if (!json_is_string (value) || strcmp (json_string_value (value), names[i]) != 0)
            continue;
        *ret = (struct vote_rule){.need = (enum vote_need)i, .deadline_s = ret->deadline_s};
        return true;
    }
    reason_set (reason, "vote: rule: want all, any, majority or a number 1..%d", COUNT_MAX);
    return false;
}

static bool read_deadline (const json_t *value, struct vote_rule *ret, struct reason *reason)
{
    json_int_t seconds = json_integer_value (value);
    ret->deadline_s = (int32_t)seconds;
    if (json_is_integer (value) && seconds >= 1 && seconds <= DEADLINE_MAX)
        return true;
    reason_set (reason, "vote: deadline: want seconds, 1..%d", DEADLINE_MAX);
    return false;
}

bool vote_rule_read (const json_t *object, struct vote_rule *ret, struct reason *reason)
{
    const char *name;
    json_t *value;
    *ret = (struct vote_rule){.need = VOTE_ALL};
    if (!json_is_object (object)) {
        reason_set (reason, "vote: want an object with rule and deadline");
        return false;
    }
    json_object_foreach ((json_t *)object, name, value)
    {
        bool rule = strcmp (name, "rule") == 0;
        if (!rule && strcmp (name, "deadline") != 0) {
            reason_set (reason, "vote: %s: unknown field", quoted (span_text (name)));
            return false;
        }
        if (!(rule ? read_need : read_deadline) (value, ret, reason))
            return false;
    }
    return true;
}

json_t *vote_rule_write (const struct vote_rule *self)
{
    if (self->need == VOTE_NONE)
        return NULL;
    json_t *object = json_object ();
    json_object_set_new (object, "rule",
                         self->need == VOTE_COUNT ? json_integer (self->count)
                                                  : json_string (names[self->need]));
    if (self->deadline_s)
        json_object_set_new (object, "deadline", json_integer (self->deadline_s));
    return object;
}

size_t vote_rule_needed (const struct vote_rule *self, size_t voters)
{
    switch (self->need) {
    case VOTE_ANY:
        return 1;
    case VOTE_MAJORITY:
        return voters / 2 + 1;
    case VOTE_COUNT:
        return (size_t)self->count;
    case VOTE_ALL:
    case VOTE_NONE:
        break;
    }
    return voters;
}
