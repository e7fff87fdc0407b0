// Operands: constants, statics, names and parentheses, and the members, items and methods after
// them.
#include <stdio.h>

#include "expr_compile.h"
#include "expr_functions.h"

static void emit_constant (struct expr_parser *self, struct expr_value value,
                           const struct expr_token *at)
{
    expr_parser_emit (self, OP_CONSTANT, 0, expr_parser_add_constant (self, value), at);
}

// -- lists of expressions

// Parse expressions separated by commas, including both brackets; the opening one is next.
static bool parse_list (struct expr_parser *self, const char *closing, size_t *ret_count)
{
    bool ok = expr_parser_enter_level (self) && expr_parser_advance (self);
    *ret_count = 0;
    if (ok && !expr_parser_next_is (self, closing))
        do {
            ok = (!*ret_count || expr_parser_advance (self)) && expr_parse_expression (self);
            ++*ret_count;
        } while (ok && expr_parser_next_is (self, ","));
    expr_parser_leave_level (self);
    return ok && expr_parser_expect (self, closing);
}

static bool check_argument_count (struct expr_parser *self, const struct expr_token *at,
                                  size_t count, size_t min, size_t max)
{
    if (count >= min && count <= max)
        return true;
    if (min == max)
        return expr_error_at (self->error, EXPR_SYNTAX, at->line, at->column,
                              "%s takes %zu argument%s, not %zu", (const char *)at->text.data, min,
                              min == 1 ? "" : "s", count);
    return expr_error_at (self->error, EXPR_SYNTAX, at->line, at->column,
                          "%s takes %zu to %zu arguments, not %zu", (const char *)at->text.data,
                          min, max, count);
}

// -- statics

enum { CLASS_SIZE = 64 };

// Consume the next token, which must be a name, and copy it to `ret`.
static bool expect_name (struct expr_parser *self, struct expr_token *ret)
{
    if (self->token.kind != TOKEN_NAME)
        return expr_parser_fail_unexpected (self, "a name");
    *ret = self->token;
    return expr_parser_advance (self);
}

// Parse @NAME or @CLASS@NAME. `ret_class` has room for CLASS_SIZE bytes; empty: no class.
static bool parse_static_name (struct expr_parser *self, char *ret_class,
                               struct expr_token *ret_name)
{
    size_t size = 0;
    bool dot;
    do {
        // Skip the @ or the dot.
        if (!expr_parser_advance (self) || !expect_name (self, ret_name))
            return false;
        dot = expr_parser_next_is (self, ".");
        if (!dot && !expr_parser_next_is (self, "@"))
            return true;
        // A class longer than any in the table is cut, and so matches none.
        int written = snprintf (ret_class + size, CLASS_SIZE - size, "%s%s",
                                (const char *)ret_name->text.data, dot ? "." : "");
        size = size + (size_t)written < CLASS_SIZE ? size + (size_t)written : CLASS_SIZE - 1;
    } while (dot);
    return expr_parser_advance (self) && expect_name (self, ret_name);
}

static bool fail_unknown_static (struct expr_parser *self, const struct expr_token *at,
                                 const char *class_name, const struct expr_token *name)
{
    return expr_error_at (self->error, EXPR_UNKNOWN, at->line, at->column,
                          "@%s%s%.64s: no such static", class_name, *class_name ? "@" : "",
                          (const char *)name->text.data);
}

static bool class_matches (const char *name, const char *wanted)
{
    static const char package[] = "java.lang.";
    if (strncmp (name, package, sizeof package - 1) == 0)
        name += sizeof package - 1;
    return strcmp (name, wanted) == 0;
}

// The number of an adjuster; -1: there is no such adjuster.
static int find_adjuster (const char *class_name, const struct expr_token *name)
{
    bool known = !*class_name || strcmp (class_name, "TemporalAdjusters") == 0;
    return known ? expr_find_adjuster (name->text) : -1;
}

static bool parse_static (struct expr_parser *self)
{
    struct expr_token at = self->token, name = at;
    char class_name[CLASS_SIZE] = "";
    if (!parse_static_name (self, class_name, &name))
        return false;
    if (find_adjuster (class_name, &name) >= 0)
        return expr_parser_fail (self, &at, EXPR_TYPE, "an adjuster is an argument of with ()",
                                 name.text);
    size_t found = 0;
    while (found < expr_static_count &&
           !(class_matches (class_name, expr_statics[found].class_name) &&
             span_is (name.text, expr_statics[found].name)))
        found++;
    if (found == expr_static_count)
        return fail_unknown_static (self, &at, class_name, &name);
    const struct expr_static *row = &expr_statics[found];
    if (!row->function) {
        emit_constant (self, expr_of_integer (row->number), &at);
        return true;
    }
    if (!expr_parser_next_is (self, "("))
        return expr_parser_fail_unexpected (self, "arguments in parentheses");
    size_t count;
    if (!parse_list (self, ")", &count) ||
        !check_argument_count (self, &name, count, row->count, row->count))
        return false;
    expr_parser_emit (self, OP_STATIC, count, found, &at);
    return true;
}

// -- members, items and methods

// Parse the variable and expression of a loop: everything after the method name.
static bool parse_loop (struct expr_parser *self, enum expr_loop_kind kind,
                        const struct expr_token *at)
{
    if (!expr_parser_enter_level (self) || !expr_parser_expect (self, "("))
        return false;
    if (self->token.kind != TOKEN_NAME)
        return expr_parser_fail_unexpected (self, "a name for the item");
    if (expr_name_is_keyword (self->token.text))
        return expr_parser_fail (self, &self->token, EXPR_SYNTAX, "a reserved word",
                                 self->token.text);
    self->locals[self->local_count] = self->token.text;
    if (!expr_parser_advance (self) || !expr_parser_expect (self, ","))
        return false;
    size_t loop = expr_parser_emit (self, OP_LOOP, kind, 0, at);
    self->local_count++;
    bool ok = expr_parse_expression (self);
    self->local_count--;
    expr_parser_emit (self, OP_NEXT, kind, loop + 1, at);
    expr_parser_set_jump_target (self, loop);
    expr_parser_leave_level (self);
    return ok && expr_parser_expect (self, ")");
}

// Parse with (@ADJUSTER ()), after the name.
static bool parse_with (struct expr_parser *self, const struct expr_token *at)
{
    char class_name[CLASS_SIZE] = "";
    struct expr_token sign, name = self->token;
    if (!expr_parser_expect (self, "("))
        return false;
    if (!expr_parser_next_is (self, "@"))
        return expr_parser_fail_unexpected (self, "an adjuster as @lastDayOfMonth()");
    sign = self->token;
    if (!parse_static_name (self, class_name, &name))
        return false;
    int adjuster = find_adjuster (class_name, &name);
    if (adjuster < 0)
        return fail_unknown_static (self, &sign, class_name, &name);
    expr_parser_emit (self, OP_WITH, 0, (size_t)adjuster, at);
    return expr_parser_expect (self, "(") && expr_parser_expect (self, ")") &&
           expr_parser_expect (self, ")");
}

static bool parse_method (struct expr_parser *self, const struct expr_token *name)
{
    static const char *const loops[] = {
        [LOOP_MAP] = "map", [LOOP_FILTER] = "filter", [LOOP_ALL] = "all", [LOOP_ANY] = "any"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (span_is (name->text, loops[i]))
            return parse_loop (self, (enum expr_loop_kind)i, name);
    if (span_is (name->text, "with"))
        return parse_with (self, name);
    size_t found = 0;
    while (found < expr_method_count && !span_is (name->text, expr_methods[found].name))
        found++;
    if (found == expr_method_count)
        return expr_parser_fail (self, name, EXPR_UNKNOWN, "no such method", name->text);
    size_t count;
    if (!parse_list (self, ")", &count) ||
        !check_argument_count (self, name, count, expr_methods[found].min, expr_methods[found].max))
        return false;
    expr_parser_emit (self, OP_METHOD, count, found, name);
    return true;
}

static bool parse_member (struct expr_parser *self)
{
    struct expr_token name;
    if (!expr_parser_advance (self) || !expect_name (self, &name))
        return false;
    if (expr_parser_next_is (self, "("))
        return parse_method (self, &name);
    expr_parser_emit (self, OP_MEMBER, 0,
                      expr_parser_add_constant (self, expr_of_string (name.text)), &name);
    return true;
}

// Parse an expression in brackets or parentheses; the opening one is next.
static bool parse_enclosed (struct expr_parser *self, const char *closing)
{
    bool ok = expr_parser_enter_level (self) && expr_parser_advance (self) &&
              expr_parse_expression (self) && expr_parser_expect (self, closing);
    expr_parser_leave_level (self);
    return ok;
}

static bool parse_index (struct expr_parser *self)
{
    struct expr_token at = self->token;
    bool ok = parse_enclosed (self, "]");
    expr_parser_emit (self, OP_INDEX, 0, 0, &at);
    return ok;
}

// -- primaries

// Parse default (x, y) and has (x): a missing value in x continues after x.
static bool parse_default_or_has (struct expr_parser *self)
{
    struct expr_token at = self->token;
    bool has = span_is (at.text, "has");
    if (!expr_parser_enter_level (self) || !expr_parser_advance (self) ||
        !expr_parser_expect (self, "("))
        return false;
    size_t start = expr_parser_emit (self, OP_TRY, 0, 0, &at);
    bool ok = expr_parse_expression (self);
    size_t end = expr_parser_emit (self, has ? OP_HAS : OP_DEFAULT, 0, 0, &at);
    expr_parser_set_jump_target (self, start);
    if (has)
        emit_constant (self, expr_of_boolean (false), &at);
    else
        ok = ok && expr_parser_expect (self, ",") && expr_parse_expression (self);
    expr_parser_set_jump_target (self, end);
    expr_parser_leave_level (self);
    return ok && expr_parser_expect (self, ")");
}

static bool parse_constant (struct expr_parser *self, struct expr_value value)
{
    emit_constant (self, value, &self->token);
    return expr_parser_advance (self);
}

static bool parse_integer (struct expr_parser *self, bool negated)
{
    uint64_t integer = self->token.integer;
    if (integer > INT64_MAX && !negated)
        return expr_parser_fail (self, &self->token, EXPR_RANGE, "overflow: an integer has 64 bits",
                                 (struct span){NULL, 0});
    return parse_constant (self, expr_of_integer (negated ? INT64_MIN : (int64_t)integer));
}

static bool parse_keyword_or_name (struct expr_parser *self)
{
    struct span word = self->token.text;
    if (span_is (word, "true") || span_is (word, "false"))
        return parse_constant (self, expr_of_boolean (span_is (word, "true")));
    if (span_is (word, "null"))
        return parse_constant (self, (struct expr_value){.type = EXPR_NULL});
    if (span_is (word, "default") || span_is (word, "has"))
        return parse_default_or_has (self);
    return expr_parse_name (self);
}

static bool parse_sign_operand (struct expr_parser *self)
{
    struct expr_token at = self->token;
    if (expr_parser_next_is (self, "#")) {
        if (!expr_parser_advance (self))
            return false;
        if (self->token.kind == TOKEN_NAME) { // the place of the variable is that of its #
            self->token.line = at.line;
            self->token.column = at.column;
        }
        return expr_parse_name (self);
    }
    if (expr_parser_next_is (self, "@"))
        return parse_static (self);
    if (expr_parser_next_is (self, "[")) {
        size_t count;
        bool ok = parse_list (self, "]", &count);
        expr_parser_emit (self, OP_LIST, 0, count, &at);
        return ok;
    }
    return expr_parser_next_is (self, "(") ? parse_enclosed (self, ")")
                                           : expr_parser_fail_unexpected (self, "an expression");
}

static bool parse_primary (struct expr_parser *self, bool negated)
{
    switch (self->token.kind) {
    case TOKEN_INTEGER:
        return parse_integer (self, negated);
    case TOKEN_DECIMAL:
        return parse_constant (
            self, (struct expr_value){.type = EXPR_DECIMAL, .decimal = self->token.decimal});
    case TOKEN_STRING:
        return parse_constant (self, expr_of_string (self->token.text));
    case TOKEN_NAME:
        return parse_keyword_or_name (self);
    case TOKEN_SIGN:
        return parse_sign_operand (self);
    default:
        return expr_parser_fail_unexpected (self, "an expression");
    }
}

bool expr_parse_postfix (struct expr_parser *self, bool negated)
{
    bool ok = parse_primary (self, negated);
    while (ok) {
        if (expr_parser_next_is (self, "."))
            ok = parse_member (self);
        else if (expr_parser_next_is (self, "["))
            ok = parse_index (self);
        else
            break;
    }
    return ok;
}
