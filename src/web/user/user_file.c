#include "user_file.h"

#include <sodium.h>

#include "rfc3339.h"

bool user_name_valid (const char *name)
{
    size_t size = strlen (name);
    return size > 0 && size < USER_NAME_SIZE && name[0] != '.' &&
           strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@-") ==
               size;
}

static int reject_line (int line, const char *want, struct reason *reason)
{
    return reason_set (reason, "line %d: want %s", line, want);
}

// Parse a token: SHA-256 in hex, and optionally its expiry time.
static int read_token (struct user_file *self, const char *value, int line, struct reason *reason)
{
    struct user_token token = {.until = 0};
    struct reason why;
    size_t size = 0;
    const char *end;
    if (self->token_count == USER_TOKENS_MAX)
        return reject_line (line, "at most 8 tokens", reason);
    if (sodium_hex2bin (token.sum, sizeof token.sum, value, strlen (value), NULL, &size, &end) ||
        size != sizeof token.sum || (*end && *end != ' '))
        return reject_line (line, "token = SHA256-HEX [UNTIL]", reason);
    end += strspn (end, " ");
    if (*end && rfc3339_parse (span_text (end), &token.until, &why))
        return reject_line (line, "UNTIL as 2027-01-01T00:00:00Z", reason);
    self->tokens[self->token_count++] = token;
    return 0;
}

static int take_rate (struct user_file *self, const char *value, int line, struct reason *reason)
{
    size_t size = strspn (value, "0123456789");
    int rate = 0;
    for (size_t i = 0; i < size && rate <= USER_RATE_MAX; i++)
        rate = rate * 10 + (value[i] - '0');
    if (value[size] || rate < 1 || rate > USER_RATE_MAX || self->rate)
        return reject_line (line, "one rate of 1..100000 requests a second", reason);
    self->rate = rate;
    return 0;
}

static int read_user_line (struct user_file *self, struct span text, int line,
                           struct reason *reason)
{
    char value[USER_PATH_SIZE];
    const uint8_t *equals = memchr (text.data, '=', text.size);
    if (!equals)
        return reject_line (line, "NAME = VALUE", reason);
    size_t at = (size_t)(equals - text.data);
    struct span name = span_trimmed (span_of (text.data, at));
    struct span rest = span_trimmed (span_of (equals + 1, text.size - at - 1));
    if (rest.size == 0 || rest.size >= sizeof value || memchr (rest.data, '\0', rest.size))
        return reject_line (line, "a value of 1..511 bytes", reason);
    memcpy (value, rest.data, rest.size);
    value[rest.size] = '\0';
    if (span_is (name, "token"))
        return read_token (self, value, line, reason);
    if (span_is (name, "rate"))
        return take_rate (self, value, line, reason);
    if (span_is (name, "key") && !self->key[0]) {
        memcpy (self->key, value, rest.size + 1);
        return 0;
    }
    if (!span_is (name, "name") || self->name[0] || !user_name_valid (value))
        return reject_line (
            line, "name, key, rate and token; a name is 1..64 of A-Z a-z 0-9 _ . @ -", reason);
    memcpy (self->name, value, rest.size + 1);
    return 0;
}

int user_file_read (struct span text, struct user_file *ret, struct reason *reason)
{
    struct user_file self = {.token_count = 0};
    for (int number = 1; text.size; number++) {
        struct span line = span_trimmed (span_take_line (&text));
        if (line.size && line.data[0] != '#' && read_user_line (&self, line, number, reason))
            return -1;
    }
    if (!self.name[0])
        return reason_set (reason, "want a name");
    *ret = self;
    return 0;
}

void token_sum (const char *token, uint8_t out[TOKEN_SUM_SIZE])
{
    crypto_hash_sha256 (out, (const unsigned char *)token, strlen (token));
}

int user_token_at (const struct user_file *self, const uint8_t sum[TOKEN_SUM_SIZE])
{
    for (size_t i = 0; i < self->token_count; i++)
        if (sodium_memcmp (self->tokens[i].sum, sum, TOKEN_SUM_SIZE) == 0)
            return (int)i;
    return -1;
}

bool user_has_token (const struct user_file *self, const uint8_t sum[TOKEN_SUM_SIZE], int64_t now)
{
    bool found = false;
    for (size_t i = 0; i < self->token_count; i++)
        if (sodium_memcmp (self->tokens[i].sum, sum, TOKEN_SUM_SIZE) == 0)
            found = found || !self->tokens[i].until || now < self->tokens[i].until;
    return found;
}

void token_make (const char *prefix, char out[TOKEN_SIZE])
{
    uint8_t bytes[32];
    randombytes_buf (bytes, sizeof bytes);
    size_t size = strlen (prefix);
    memcpy (out, prefix, size);
    sodium_bin2base64 (out + size, TOKEN_SIZE - size, bytes, sizeof bytes,
                       sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero (bytes, sizeof bytes);
}
