// Tokens of expressions and programs.
#pragma once

#include "expr_code.h"

enum expr_token_kind {
    TOKEN_END,
    TOKEN_LINE, // the end of a line of a program: newline or ;
    TOKEN_NAME,
    TOKEN_INTEGER,
    TOKEN_DECIMAL,
    TOKEN_STRING,
    TOKEN_SIGN // an operator or bracket, in `sign`
};

struct expr_token {
    enum expr_token_kind kind;
    int line, column;
    size_t begin, end; // byte offsets in the text
    char sign[3];      // TOKEN_SIGN: the sign, as "+" or "&&"
    struct span text;  // the name or decoded string, NUL-terminated in the pool
    uint64_t integer;  // TOKEN_INTEGER: up to 2^63, which is valid only after a minus
    double decimal;
};

struct expr_lexer {
    struct span text;
    size_t at;
    int line, column; // the place of `at`
    bool program;     // the text is a program: newline and ; end a line
    char *pool;       // for names and strings; borrowed, twice the size of the text plus 1
    size_t pool_size;
    struct expr_error *error;
};

// Read the next token. False: not valid, and the error is set.
bool expr_lexer_next (struct expr_lexer *self, struct expr_token *ret);
