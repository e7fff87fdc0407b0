// A program is split into lines by its tokens, then each line is compiled separately.
#include <stdlib.h>

#include "expr_compile.h"
#include "memory.h"

struct line_splitter {
    struct expr_lexer lexer;
    struct expr_token token;
    struct expr_program *program;
    size_t room;
};

static bool next_token (struct line_splitter *self)
{
    self->lexer.pool_size = 0; // the text of the former token is no longer used
    return expr_lexer_next (&self->lexer, &self->token);
}

static bool ends_line (const struct expr_token *token)
{
    return token->kind == TOKEN_END || token->kind == TOKEN_LINE;
}

// Check that the next token can be the name of a line.
static bool check_name (const struct line_splitter *self)
{
    const struct expr_token *token = &self->token;
    struct expr_error *error = self->lexer.error;
    if (token->kind != TOKEN_NAME)
        return expr_error_at (error, EXPR_SYNTAX, token->line, token->column,
                              "want NAME = EXPRESSION");
    if (!expr_name_valid (token->text))
        return expr_error_at (error, EXPR_SYNTAX, token->line, token->column,
                              "reserved or longer than 64 bytes: %s", quoted (token->text));
    if (self->program->count == EXPR_LINES_MAX)
        return expr_error_at (error, EXPR_LIMIT, token->line, token->column, "more than %d lines",
                              EXPR_LINES_MAX);
    for (size_t i = 0; i < self->program->count; i++)
        if (span_is (token->text, self->program->lines[i].name))
            return expr_error_at (error, EXPR_SYNTAX, token->line, token->column,
                                  "there is a line before of the name %s", quoted (token->text));
    return true;
}

static struct expr_line *add_line (struct line_splitter *self, const char *name)
{
    if (self->program->count == self->room) {
        self->room = self->room * 2 + 4;
        self->program = memory_resize (
            self->program, sizeof *self->program + self->room * sizeof *self->program->lines);
    }
    struct expr_line *line = &self->program->lines[self->program->count++];
    *line = (struct expr_line){.name = memory_text (name)};
    return line;
}

// Read one line, from its name to the token that ends it.
static bool read_line (struct line_splitter *self)
{
    if (!check_name (self))
        return false;
    struct expr_line *line = add_line (self, (const char *)self->token.text.data);
    if (!next_token (self))
        return false;
    if (self->token.kind != TOKEN_SIGN || strcmp (self->token.sign, "=") != 0)
        return expr_error_at (self->lexer.error, EXPR_SYNTAX, self->token.line, self->token.column,
                              "want = behind the name");
    int line_number = self->lexer.line, column = self->lexer.column;
    size_t begin = self->lexer.at;
    bool ok;
    do
        ok = next_token (self);
    while (ok && !ends_line (&self->token));
    // If a token is not valid, the compiler reports it, or an earlier error.
    size_t end = ok ? self->token.begin : self->lexer.text.size;
    if (!ok && end - begin > EXPR_TEXT_MAX) // too long to compile: keep the error of the token
        return false;
    struct span text = span_of (self->lexer.text.data + begin, end - begin);
    return expr_compile_at (text, line_number, column, &line->expr, self->lexer.error) && ok;
}

int expr_program_compile (struct span text, struct expr_program **ret, struct expr_error *error)
{
    if (!expr_check_text (text, EXPR_PROGRAM_MAX, 1, 1, error))
        return error->code;
    struct line_splitter line_splitter = {
        .lexer = {.text = text, .line = 1, .column = 1, .program = true, .error = error},
        .program = memory_new (sizeof *line_splitter.program)};
    line_splitter.lexer.pool = memory_resize (NULL, text.size * 2 + 1);
    bool ok;
    do
        ok = next_token (&line_splitter) &&
             (ends_line (&line_splitter.token) || read_line (&line_splitter));
    while (ok && line_splitter.token.kind != TOKEN_END);
    free (line_splitter.lexer.pool);
    if (ok)
        *ret = line_splitter.program;
    else
        expr_program_destroy (&line_splitter.program);
    return ok ? 0 : error->code;
}

void expr_program_destroy (struct expr_program **self)
{
    if (!*self)
        return;
    for (size_t i = 0; i < (*self)->count; i++) {
        free ((*self)->lines[i].name);
        expr_destroy (&(*self)->lines[i].expr);
    }
    free (*self);
    *self = NULL;
}
