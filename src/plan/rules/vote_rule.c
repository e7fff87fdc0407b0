#include "vote_rule.h"

#include "json_fields.h"
#include "nearest.h"

static const char *const names[] = {
    [VOTE_ALL] = "all", [VOTE_ANY] = "any", [VOTE_MAJORITY] = "majority"};

// Read `rule`: a word, or a number of voters.
static bool read_vote_need (void *rule, const json_t *value, struct reason *reason)
{
    struct vote_rule *self = rule;
    json_int_t count = json_integer_value (value);
    const char *text = json_string_value (value);
    if (json_is_integer (value) && count >= 1 && count <= VOTE_COUNT_MAX) {
        self->need = VOTE_COUNT;
        self->count = (int32_t)count;
        return true;
    }
    int need = text ? word_index (names + VOTE_ALL, VOTE_COUNT - VOTE_ALL, text) : -1;
    if (need >= 0) {
        self->need = (enum vote_need) (VOTE_ALL + need);
        return true;
    }
    return reason_reject (reason, "want all, any, majority or a number 1..%d", VOTE_COUNT_MAX);
}

bool vote_rule_read (const json_t *object, struct vote_rule *ret, struct reason *reason)
{
    static const struct json_field fields[] = {{"rule", .read_with_reason = read_vote_need},
                                               {"deadline", AS_INT,
                                                offsetof (struct vote_rule, deadline_s), 1,
                                                VOTE_DEADLINE_MAX_S, "want seconds, 1..31536000"}};
    struct reason why = {"want an object with rule and deadline"};
    *ret = (struct vote_rule){.need = VOTE_ALL};
    if (json_is_object (object) &&
        json_fields_read (object, fields, sizeof fields / sizeof *fields, ret, &why))
        return true;
    return reason_reject (reason, "vote: %s", why.text);
}

json_t *vote_rule_write (const struct vote_rule *self)
{
    if (self->need == VOTE_NONE)
        return NULL;
    return json_pack ("{s:o, s:o*}", "rule",
                      self->need == VOTE_COUNT ? json_integer (self->count)
                                               : json_string (names[self->need]),
                      "deadline", self->deadline_s ? json_integer (self->deadline_s) : NULL);
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
