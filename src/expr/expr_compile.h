// The compiler, shared by its files: operators and expressions are in expr_compile.c, operands in
// expr_postfix.c, names in expr_names.c. A function that fails returns false, and has set the
// error.
#pragma once

#include "expr_lexer.h"

struct expr_parser {
    struct expr_lexer lexer;
    struct expr_token token; // the next token, not consumed yet
    struct expr *expr;       // the expression that is compiled
    struct expr_error *error;
    size_t op_room, constant_room, ref_room;
    int depth;
    struct span locals[EXPR_DEPTH_MAX]; // variables of the enclosing loops, outermost first
    size_t local_count;
};

// Set an error at token `at`; a name with bytes is appended, quoted. Returns false.
bool expr_parser_fail (const struct expr_parser *self, const struct expr_token *at,
                       enum expr_code code, const char *what, struct span name);
// Set the error that the next token is not the wanted one. Returns false.
bool expr_parser_fail_unexpected (const struct expr_parser *self, const char *wanted);

// Read the next token.
bool expr_parser_advance (struct expr_parser *self);
// Whether the next token is this sign.
bool expr_parser_next_is (const struct expr_parser *self, const char *sign);
// Consume the next token if it is this sign; else fail.
bool expr_parser_expect (struct expr_parser *self, const char *sign);

// Append an operation with the place of a token. Returns its number.
size_t expr_parser_emit (struct expr_parser *self, enum expr_op_code code, size_t count,
                         size_t argument, const struct expr_token *at);
// Set the target of the emitted jump number `jump` to the next operation.
void expr_parser_set_jump_target (struct expr_parser *self, size_t jump);

// Append a constant. Returns its number.
size_t expr_parser_add_constant (struct expr_parser *self, struct expr_value value);

// Enter a level of nesting. False: deeper than EXPR_DEPTH_MAX.
bool expr_parser_enter_level (struct expr_parser *self);
// Leave a level of nesting.
void expr_parser_leave_level (struct expr_parser *self);

// Parse an expression, from the ternary operator down.
bool expr_parse_expression (struct expr_parser *self);

// Parse a variable, a reserved name with its members, or a loop variable.
bool expr_parse_name (struct expr_parser *self);

// Whether a name is a keyword: true, false, null, in, default, has.
bool expr_name_is_keyword (struct span name);

// Parse an operand with its members, indexes and methods. `negated`: the next token is the integer
// 2^63 after a minus, which together are INT64_MIN.
bool expr_parse_postfix (struct expr_parser *self, bool negated);

// Check that a text has at most `max` bytes, is UTF-8, and has no NUL. `line` and `column` are the
// place of its first byte.
bool expr_check_text (struct span text, size_t max, int line, int column, struct expr_error *error);

// Like expr_compile, for a part of a text that begins at this place.
bool expr_compile_at (struct span text, int line, int column, struct expr **ret,
                      struct expr_error *error);
