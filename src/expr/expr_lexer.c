// The text must be valid UTF-8 without NUL: the compiler checks that first.
#include "expr_lexer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int peek_byte (const struct expr_lexer *self, size_t ahead)
{
    size_t at = self->at + ahead;
    return at < self->text.size ? self->text.data[at] : -1;
}

// Advance by one byte; columns count characters.
static void advance_byte (struct expr_lexer *self)
{
    uint8_t byte = self->text.data[self->at++];
    if (byte == '\n') {
        self->line++;
        self->column = 1;
    } else if ((byte & 0xC0) != 0x80) {
        self->column++;
    }
}

static bool is_digit (int byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter (int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static void skip_blanks_and_comments (struct expr_lexer *self)
{
    for (;;) {
        int byte = peek_byte (self, 0);
        if (byte == '/' && peek_byte (self, 1) == '/')
            while (peek_byte (self, 0) >= 0 && peek_byte (self, 0) != '\n')
                advance_byte (self);
        else if (byte == ' ' || byte == '\t' || byte == '\r' || (byte == '\n' && !self->program))
            advance_byte (self);
        else
            return;
    }
}

static void pool_add_byte (struct expr_lexer *self, char byte)
{
    self->pool[self->pool_size++] = byte;
}

// Make the bytes in the pool since `begin` the token's text.
static void end_token_text (struct expr_lexer *self, size_t begin, struct expr_token *token)
{
    token->text = span_of (self->pool + begin, self->pool_size - begin);
    pool_add_byte (self, '\0');
}

static bool fail_here (const struct expr_lexer *self, const char *what)
{
    return expr_error_at (self->error, EXPR_SYNTAX, self->line, self->column, "%s", what);
}

static void read_name (struct expr_lexer *self, struct expr_token *token)
{
    size_t begin = self->pool_size;
    while (is_letter (peek_byte (self, 0)) || is_digit (peek_byte (self, 0))) {
        pool_add_byte (self, (char)peek_byte (self, 0));
        advance_byte (self);
    }
    end_token_text (self, begin, token);
    token->kind = TOKEN_NAME;
}

static void skip_number_digits (struct expr_lexer *self)
{
    while (is_digit (peek_byte (self, 0)))
        advance_byte (self);
}

static bool fail_overflow (const struct expr_lexer *self, const struct expr_token *token,
                           const char *what)
{
    return expr_error_at (self->error, EXPR_SYNTAX, token->line, token->column, "overflow: %s",
                          what);
}

static bool read_number (struct expr_lexer *self, struct expr_token *token)
{
    size_t begin = self->at;
    skip_number_digits (self);
    token->kind = TOKEN_INTEGER;
    if (peek_byte (self, 0) == '.' && is_digit (peek_byte (self, 1))) {
        token->kind = TOKEN_DECIMAL;
        advance_byte (self);
        skip_number_digits (self);
    }
    size_t sign = peek_byte (self, 1) == '+' || peek_byte (self, 1) == '-';
    if ((peek_byte (self, 0) == 'e' || peek_byte (self, 0) == 'E') &&
        is_digit (peek_byte (self, 1 + sign))) {
        token->kind = TOKEN_DECIMAL;
        advance_byte (self);
        advance_byte (self);
        skip_number_digits (self);
    }
    if (is_letter (peek_byte (self, 0)))
        return fail_here (self, "a number ends here: a letter cannot follow");
    // strtod needs a NUL after the number. The copy is no longer than the number, so the pool holds
    // it.
    char *copy = self->pool + self->pool_size;
    memcpy (copy, self->text.data + begin, self->at - begin);
    copy[self->at - begin] = '\0';
    if (token->kind == TOKEN_DECIMAL) {
        token->decimal = strtod (copy, NULL);
        return isfinite (token->decimal) || fail_overflow (self, token, "too large for a decimal");
    }
    const uint64_t max = UINT64_C (1) << 63;
    token->integer = 0;
    for (; *copy; copy++) {
        uint64_t digit = (uint64_t)(*copy - '0');
        if (token->integer > (max - digit) / 10)
            return fail_overflow (self, token, "an integer has 64 bits");
        token->integer = token->integer * 10 + digit;
    }
    return true;
}

// Read '...', in which '' is a quote.
static bool read_quoted (struct expr_lexer *self, struct expr_token *token)
{
    size_t begin = self->pool_size;
    for (advance_byte (self);; advance_byte (self)) {
        int byte = peek_byte (self, 0);
        if (byte < 0)
            return expr_error_at (self->error, EXPR_SYNTAX, token->line, token->column,
                                  "the string is not closed with '");
        if (byte == '\'') {
            advance_byte (self);
            if (peek_byte (self, 0) != '\'')
                break;
        }
        pool_add_byte (self, (char)byte);
    }
    end_token_text (self, begin, token);
    return true;
}

// Read the four hex digits after \u. Returns their UTF-16 code unit; -1: invalid.
static int32_t read_hex_unit (struct expr_lexer *self)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int byte = peek_byte (self, 0), small = byte | 0x20;
        if (!is_digit (byte) && (small < 'a' || small > 'f' || byte < 0))
            return -1;
        unit = unit << 4 | (is_digit (byte) ? byte - '0' : small - 'a' + 10);
        advance_byte (self);
    }
    return unit;
}

static void pool_add_character (struct expr_lexer *self, int32_t point)
{
    if (point < 0x80) {
        pool_add_byte (self, (char)point);
        return;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const int leads[] = {0, 0xC0, 0xE0, 0xF0};
    pool_add_byte (self, (char)(leads[more] | point >> more * 6));
    while (more--)
        pool_add_byte (self, (char)(0x80 | (point >> more * 6 & 0x3F)));
}

// Read the rest of an escape sequence in "..."; its backslash is consumed.
static bool read_escape (struct expr_lexer *self)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    int byte = peek_byte (self, 0);
    const char *letter = byte > 0 ? strchr (letters, byte) : NULL;
    if (letter) {
        pool_add_byte (self, meanings[letter - letters]);
        advance_byte (self);
        return true;
    }
    if (byte != 'u')
        return fail_here (self, "no such escape in a string");
    advance_byte (self);
    int32_t point = read_hex_unit (self);
    if (point >= 0xD800 && point < 0xDC00 && peek_byte (self, 0) == '\\' &&
        peek_byte (self, 1) == 'u') {
        advance_byte (self);
        advance_byte (self);
        int32_t low = read_hex_unit (self);
        point =
            low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((point & 0x3FF) << 10 | (low & 0x3FF)) : -1;
    }
    if (point <= 0 || (point >= 0xD800 && point < 0xE000))
        return fail_here (self, "\\u wants four hex digits of a character, not of NUL");
    pool_add_character (self, point);
    return true;
}

// Read "...", with the escapes of JSON.
static bool read_json_string (struct expr_lexer *self, struct expr_token *token)
{
    size_t begin = self->pool_size;
    for (advance_byte (self); peek_byte (self, 0) != '"';) {
        int byte = peek_byte (self, 0);
        if (byte < 0)
            return expr_error_at (self->error, EXPR_SYNTAX, token->line, token->column,
                                  "the string is not closed with \"");
        if (byte < 0x20)
            return fail_here (self, "a control character in \"...\": write \\n, \\t or \\u00XX");
        advance_byte (self);
        if (byte != '\\')
            pool_add_byte (self, (char)byte);
        else if (!read_escape (self))
            return false;
    }
    advance_byte (self);
    end_token_text (self, begin, token);
    return true;
}

static bool read_sign (struct expr_lexer *self, struct expr_token *token)
{
    static const char *const signs[] = {"||", "&&", "==", "!=", "<=", ">=", "=", "<", ">",
                                        "+",  "-",  "*",  "/",  "%",  "!",  "?", ":", ".",
                                        "[",  "]",  "(",  ")",  ",",  "#",  "@"};
    token->kind = TOKEN_SIGN;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *sign = signs[i];
        if (peek_byte (self, 0) != sign[0] || (sign[1] && peek_byte (self, 1) != sign[1]))
            continue;
        snprintf (token->sign, sizeof token->sign, "%s", sign);
        advance_byte (self);
        if (sign[1])
            advance_byte (self);
        return true;
    }
    return fail_here (self, "this character begins nothing");
}

bool expr_lexer_next (struct expr_lexer *self, struct expr_token *ret)
{
    skip_blanks_and_comments (self);
    struct expr_token token = {.line = self->line, .column = self->column, .begin = self->at};
    int byte = peek_byte (self, 0);
    bool ok = true;
    if (byte < 0) {
        token.kind = TOKEN_END;
    } else if (self->program && (byte == '\n' || byte == ';')) {
        token.kind = TOKEN_LINE;
        advance_byte (self);
    } else if (is_letter (byte)) {
        read_name (self, &token);
    } else if (is_digit (byte)) {
        ok = read_number (self, &token);
    } else if (byte == '\'' || byte == '"') {
        token.kind = TOKEN_STRING;
        ok = byte == '"' ? read_json_string (self, &token) : read_quoted (self, &token);
    } else {
        ok = read_sign (self, &token);
    }
    token.end = self->at;
    if (ok)
        *ret = token;
    return ok;
}
