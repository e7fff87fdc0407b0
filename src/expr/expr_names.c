// Names: variables, loop variables, and reserved names, which refer to values of the caller.

#include "expr_compile.h"
#include "memory.h"

// -- names

// Reserved names that refer to values of the caller.
static const struct reserved {
    const char *name;
    enum expr_ref_kind kind;
    const char *members[7]; // empty: the name is used without a member
} reserved_names[] = {
    {"input", EXPR_REF_INPUT, {NULL}},
    {"item", EXPR_REF_ITEM, {NULL}},
    {"index", EXPR_REF_INDEX, {NULL}},
    {"result", EXPR_REF_RESULT, {NULL}},
    {"steps", EXPR_REF_STEP, {"state", "value", "error"}},
    {"run", EXPR_REF_RUN, {"id", "flow", "version", "outcome", "failed"}},
    {"idc", EXPR_REF_IDC, {"shouldFireTime", "actualFireTime", "createTime", "loadDate"}},
    {"self", EXPR_REF_SELF, {"value", "state"}},
};

static const struct reserved *find_reserved (struct span name)
{
    for (size_t i = 0; i < sizeof reserved_names / sizeof *reserved_names; i++)
        if (span_is (name, reserved_names[i].name))
            return &reserved_names[i];
    return NULL;
}

bool expr_name_is_keyword (struct span name)
{
    static const char *const words[] = {"true", "false", "null", "in", "default", "has"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_is (name, words[i]))
            return true;
    return false;
}

bool expr_name_valid (struct span name)
{
    enum { NAME_MAX_SIZE = 64 };
    if (name.size == 0 || name.size > NAME_MAX_SIZE)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i], small = byte | 0x20;
        bool letter = (small >= 'a' && small <= 'z') || byte == '_';
        if (!letter && (i == 0 || byte < '0' || byte > '9'))
            return false;
    }
    return !expr_name_is_keyword (name) && !find_reserved (name);
}

// -- references

// Emit a push of a reference; a reference that was used before is shared.
static void emit_ref (struct expr_parser *self, enum expr_ref_kind kind, const char *name,
                      const char *member, const struct expr_token *at)
{
    struct expr *expr = self->expr;
    size_t i = 0;
    for (; i < expr->ref_count; i++) {
        const struct expr_ref *ref = &expr->refs[i];
        if (ref->kind == kind && strcmp (ref->name, name) == 0 &&
            (ref->member == member || (member && strcmp (ref->member, member) == 0)))
            break;
    }
    if (i == expr->ref_count) {
        expr->refs = memory_grow (expr->refs, i, &self->ref_room, sizeof *expr->refs);
        expr->refs[expr->ref_count++] = (struct expr_ref){
            .kind = kind, .name = name, .member = member, .line = at->line, .column = at->column};
    }
    expr_parser_emit (self, OP_REF, 0, i, at);
}

// Parse .NAME or ['NAME'] after a reserved name.
static bool parse_constant_member (struct expr_parser *self, const struct reserved *reserved,
                                   struct expr_token *ret)
{
    bool brackets = expr_parser_next_is (self, "[");
    if (!brackets && !expr_parser_next_is (self, "."))
        return expr_parser_fail_unexpected (self, reserved->kind == EXPR_REF_STEP
                                                      ? "steps.NAME.value, .state or .error"
                                                      : "a member of the name before it");
    if (!expr_parser_advance (self))
        return false;
    if (self->token.kind != (brackets ? TOKEN_STRING : TOKEN_NAME))
        return expr_parser_fail_unexpected (self, brackets ? "a constant in quotes" : "a name");
    *ret = self->token;
    return expr_parser_advance (self) && (!brackets || expr_parser_expect (self, "]"));
}

// Parse the members of a reserved name, which is consumed.
static bool parse_reserved (struct expr_parser *self, const struct reserved *reserved,
                            const struct expr_token *at)
{
    struct expr_token name = {.text = span_text (reserved->name)}, member;
    if (!reserved->members[0]) {
        emit_ref (self, reserved->kind, reserved->name, NULL, at);
        return true;
    }
    if ((reserved->kind == EXPR_REF_STEP && !parse_constant_member (self, reserved, &name)) ||
        !parse_constant_member (self, reserved, &member))
        return false;
    for (size_t i = 0; reserved->members[i]; i++)
        if (span_is (member.text, reserved->members[i])) {
            emit_ref (self, reserved->kind, (const char *)name.text.data, reserved->members[i], at);
            return true;
        }
    return expr_error_at (self->error, EXPR_UNKNOWN, member.line, member.column,
                          "%s has no member %s", reserved->name, quoted (member.text));
}

bool expr_parse_name (struct expr_parser *self)
{
    struct expr_token at = self->token;
    if (at.kind != TOKEN_NAME)
        return expr_parser_fail_unexpected (self, "a name");
    if (expr_name_is_keyword (at.text))
        return expr_parser_fail (self, &at, EXPR_SYNTAX, "a reserved word", at.text);
    if (!expr_parser_advance (self))
        return false;
    if (expr_parser_next_is (self, "("))
        return expr_parser_fail (self, &at, EXPR_UNKNOWN, "no such function", at.text);
    for (size_t i = self->local_count; i-- > 0;) {
        if (!span_equal (self->locals[i], at.text))
            continue;
        expr_parser_emit (self, OP_LOCAL, 0, i, &at);
        return true;
    }
    const struct reserved *reserved = find_reserved (at.text);
    if (reserved)
        return parse_reserved (self, reserved, &at);
    emit_ref (self, EXPR_REF_VARIABLE, (const char *)at.text.data, NULL, &at);
    return true;
}
