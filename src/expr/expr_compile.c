// Recursive descent: one function per rule of the grammar emits operations directly. Nesting is
// counted where a rule contains itself, so recursion is bounded; chains of operators are loops.
#include "expr_compile.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"
#include "utf8.h"

// -- tokens

bool expr_parser_fail (const struct expr_parser *self, const struct expr_token *at,
                       enum expr_code code, const char *what, struct span name)
{
    return expr_error_at (self->error, code, at->line, at->column, "%s%s%s", what,
                          name.size ? ": " : "", name.size ? quoted (name) : "");
}

bool expr_parser_fail_unexpected (const struct expr_parser *self, const char *wanted)
{
    const struct expr_token *token = &self->token;
    if (token->kind == TOKEN_END)
        return expr_error_at (self->error, EXPR_SYNTAX, token->line, token->column,
                              "the text ends, want %s", wanted);
    struct span text = span_of (self->lexer.text.data + token->begin, token->end - token->begin);
    return expr_error_at (self->error, EXPR_SYNTAX, token->line, token->column,
                          "unexpected %s, want %s", quoted (text), wanted);
}

bool expr_parser_advance (struct expr_parser *self)
{
    return expr_lexer_next (&self->lexer, &self->token);
}

bool expr_parser_next_is (const struct expr_parser *self, const char *sign)
{
    return self->token.kind == TOKEN_SIGN && strcmp (self->token.sign, sign) == 0;
}

bool expr_parser_expect (struct expr_parser *self, const char *sign)
{
    return expr_parser_next_is (self, sign) ? expr_parser_advance (self)
                                            : expr_parser_fail_unexpected (self, sign);
}

// -- operations

size_t expr_parser_emit (struct expr_parser *self, enum expr_op_code code, size_t count,
                         size_t argument, const struct expr_token *at)
{
    struct expr *expr = self->expr;
    expr->ops = memory_grow (expr->ops, expr->op_count, &self->op_room, sizeof *expr->ops);
    bool pushes = code == OP_CONSTANT || code == OP_REF || code == OP_LOCAL || code == OP_LIST ||
                  code == OP_STATIC;
    expr->stack_size += pushes;
    expr->ops[expr->op_count] = (struct expr_op){.code = (uint8_t)code,
                                                 .count = (uint16_t)count,
                                                 .argument = (uint32_t)argument,
                                                 .line = at->line,
                                                 .column = at->column};
    return expr->op_count++;
}

void expr_parser_set_jump_target (struct expr_parser *self, size_t jump)
{
    self->expr->ops[jump].argument = (uint32_t)self->expr->op_count;
}

size_t expr_parser_add_constant (struct expr_parser *self, struct expr_value value)
{
    struct expr *expr = self->expr;
    expr->constants = memory_grow (expr->constants, expr->constant_count, &self->constant_room,
                                   sizeof *expr->constants);
    expr->constants[expr->constant_count] = value;
    return expr->constant_count++;
}

// -- the rules

bool expr_parser_enter_level (struct expr_parser *self)
{
    if (self->depth++ < EXPR_DEPTH_MAX)
        return true;
    return expr_error_at (self->error, EXPR_LIMIT, self->token.line, self->token.column,
                          "nested deeper than %d", EXPR_DEPTH_MAX);
}

void expr_parser_leave_level (struct expr_parser *self)
{
    self->depth--;
}

static bool parse_unary (struct expr_parser *self)
{
    struct expr_token sign = self->token;
    bool minus = expr_parser_next_is (self, "-");
    if (!minus && !expr_parser_next_is (self, "!"))
        return expr_parse_postfix (self, false);
    if (!expr_parser_enter_level (self) || !expr_parser_advance (self))
        return false;
    // INT64_MIN must be parsed with its sign: its digits alone are out of range.
    bool smallest = minus && self->token.kind == TOKEN_INTEGER && self->token.integer > INT64_MAX;
    if (!(smallest ? expr_parse_postfix (self, true) : parse_unary (self)))
        return false;
    if (!smallest)
        expr_parser_emit (self, minus ? OP_NEGATE : OP_NOT, 0, 0, &sign);
    expr_parser_leave_level (self);
    return true;
}

// A precedence level of binary operators; all associate to the left.
struct rank {
    struct {
        const char *sign;
        enum expr_op_code code;
    } operators[8];
    bool once; // at most one operator: comparisons do not chain
};

static const struct rank ranks[] = {
    {.operators = {{"==", OP_EQUAL},
                   {"!=", OP_UNEQUAL},
                   {"<", OP_LESS},
                   {"<=", OP_LESS_EQUAL},
                   {">", OP_GREATER},
                   {">=", OP_GREATER_EQUAL},
                   {"in", OP_IN}},
     .once = true},
    {.operators = {{"+", OP_ADD}, {"-", OP_SUBTRACT}}},
    {.operators = {{"*", OP_MULTIPLY}, {"/", OP_DIVIDE}, {"%", OP_REMAINDER}}},
};

// Whether the next token is an operator of this rank; `ret`: its operation.
static bool next_is_operator (const struct expr_parser *self, const struct rank *rank,
                              enum expr_op_code *ret)
{
    for (size_t i = 0; i < 8 && rank->operators[i].sign; i++) {
        *ret = rank->operators[i].code;
        bool word = self->token.kind == TOKEN_NAME && span_is (self->token.text, "in");
        if (*ret == OP_IN ? word : expr_parser_next_is (self, rank->operators[i].sign))
            return true;
    }
    return false;
}

static bool parse_binary_rank (struct expr_parser *self, size_t number)
{
    if (number == sizeof ranks / sizeof *ranks)
        return parse_unary (self);
    const struct rank *rank = &ranks[number];
    bool ok = parse_binary_rank (self, number + 1);
    enum expr_op_code code;
    while (ok && next_is_operator (self, rank, &code)) {
        struct expr_token at = self->token;
        ok = expr_parser_advance (self) && parse_binary_rank (self, number + 1);
        expr_parser_emit (self, code, 0, 0, &at);
        if (rank->once)
            break;
    }
    return ok;
}

// Parse && or ||. A jump skips the right side if the left side decides.
static bool parse_logic (struct expr_parser *self, bool is_or)
{
    bool ok = is_or ? parse_logic (self, false) : parse_binary_rank (self, 0);
    while (ok && expr_parser_next_is (self, is_or ? "||" : "&&")) {
        struct expr_token at = self->token;
        size_t jump = expr_parser_emit (self, is_or ? OP_OR : OP_AND, 0, 0, &at);
        ok = expr_parser_advance (self) &&
             (is_or ? parse_logic (self, false) : parse_binary_rank (self, 0));
        expr_parser_emit (self, OP_BOOLEAN, 0, 0, &at);
        expr_parser_set_jump_target (self, jump);
    }
    return ok;
}

bool expr_parse_expression (struct expr_parser *self)
{
    if (!parse_logic (self, true))
        return false;
    if (!expr_parser_next_is (self, "?"))
        return true;
    struct expr_token at = self->token;
    size_t branch = expr_parser_emit (self, OP_BRANCH, 0, 0, &at);
    if (!expr_parser_enter_level (self) || !expr_parser_advance (self) ||
        !expr_parse_expression (self) || !expr_parser_expect (self, ":"))
        return false;
    size_t jump = expr_parser_emit (self, OP_JUMP, 0, 0, &at);
    expr_parser_set_jump_target (self, branch);
    bool ok = expr_parse_expression (self);
    expr_parser_set_jump_target (self, jump);
    expr_parser_leave_level (self);
    return ok;
}

// -- expressions

// Advance line and column from the start of the text to byte `at`.
static void advance_place (struct span text, size_t at, int *line, int *column)
{
    for (size_t i = 0; i < at; i++) {
        if (text.data[i] == '\n') {
            ++*line;
            *column = 1;
        } else if ((text.data[i] & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

bool expr_check_text (struct span text, size_t max, int line, int column, struct expr_error *error)
{
    if (text.size > max)
        return expr_error_at (error, EXPR_LIMIT, line, column, "longer than %zu bytes", max);
    size_t good = utf8_text_size (text);
    if (good == text.size)
        return true;
    advance_place (text, good, &line, &column);
    return expr_error_at (error, EXPR_SYNTAX, line, column, "not UTF-8, or a NUL byte");
}

bool expr_compile_at (struct span text, int line, int column, struct expr **ret,
                      struct expr_error *error)
{
    if (!expr_check_text (text, EXPR_TEXT_MAX, line, column, error))
        return false;
    struct expr *expr = memory_new (sizeof *expr);
    expr->pool = memory_resize (NULL, text.size * 2 + 1);
    struct expr_parser parser = {
        .lexer = {.text = text, .line = line, .column = column, .pool = expr->pool, .error = error},
        .expr = expr,
        .error = error};
    bool ok = expr_parser_advance (&parser) && expr_parse_expression (&parser) &&
              (parser.token.kind == TOKEN_END ||
               expr_parser_fail_unexpected (&parser, "an operator or the end"));
    assert (!ok || (parser.depth == 0 && parser.local_count == 0));
    if (ok)
        *ret = expr;
    else
        expr_destroy (&expr);
    return ok;
}

int expr_compile (struct span text, struct expr **ret, struct expr_error *error)
{
    return expr_compile_at (text, 1, 1, ret, error) ? 0 : error->code;
}

void expr_destroy (struct expr **self)
{
    if (!*self)
        return;
    free ((*self)->ops);
    free ((*self)->constants);
    free ((*self)->refs);
    free ((*self)->pool);
    free (*self);
    *self = NULL;
}

size_t expr_refs (const struct expr *self, const struct expr_ref **ret)
{
    *ret = self->refs;
    return self->ref_count;
}
