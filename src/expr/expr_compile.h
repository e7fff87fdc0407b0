// The compiler, shared by its files: operators and expressions are in expr_compile.c, operands in
// expr_postfix.c, names in expr_names.c.
#pragma once

#include "expr_lexer.h"

struct expr_parser {
    struct expr_lexer lexer;
    struct expr_token token; // the next one
    struct expr *expr;       // the result
    struct expr_error *error;
    size_t op_room, constant_room, ref_room;
    int depth;
    struct span locals[EXPR_DEPTH_MAX]; // variables of the enclosing loops, outermost first
    size_t local_count;
};

// Fail at a token; a name is shown quoted. Returns the code.
int expr_parser_fail (const struct expr_parser *self, const struct expr_token *at,
                      enum expr_code code, const char *what, struct span name);
int expr_parser_fail_unexpected (const struct expr_parser *self, const char *wanted);

// Read the next token; whether the token is this sign; require this sign and go past it.
int expr_parser_advance (struct expr_parser *self);
bool expr_parser_next_is (const struct expr_parser *self, const char *sign);
int expr_parser_expect (struct expr_parser *self, const char *sign);

// Add an operation, with the place of a token. Returns its number.
size_t expr_parser_emit (struct expr_parser *self, enum expr_op_code code, size_t count,
                         size_t argument, const struct expr_token *at);
void expr_parser_set_jump_target (struct expr_parser *self, size_t jump);

// Add a constant. Returns its number.
size_t expr_parser_add_constant (struct expr_parser *self, struct expr_value value);

// Enter a level of nesting, if EXPR_DEPTH_MAX allows it; leave it.
int expr_parser_enter_level (struct expr_parser *self);
void expr_parser_leave_level (struct expr_parser *self);

int expr_parse_expression (struct expr_parser *self);

// Parse a name: a variable, a reserved name with its members, or a loop variable.
int expr_parse_name (struct expr_parser *self);

// Whether it is a keyword: true, false, null, in, default, has.
bool expr_name_is_keyword (struct span name);

// `negated`: the token is the integer 2^63 after a minus, which is INT64_MIN.
int expr_parse_postfix (struct expr_parser *self, bool negated);

// Check that a text has at most `max` bytes, is UTF-8, and has no NUL.
int expr_check_text (struct span text, size_t max, int line, int column, struct expr_error *error);

// Like expr_compile, for a part of a text that begins at this place.
int expr_compile_at (struct span text, int line, int column, struct expr **ret,
                     struct expr_error *error);
