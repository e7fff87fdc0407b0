#include "signature.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base64.h"
#include "percent.h"

enum { PARAMETERS_MAX = 512 }; // as many as fit in a URL of 1,024 bytes

static void sha256_hex (struct span bytes, char ret[SIGNATURE_SIZE])
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256 (hash, bytes.data, bytes.size);
    sodium_bin2hex (ret, SIGNATURE_SIZE, hash, sizeof hash);
}

// -- the canonical request

// Decode and re-encode the text, so that each byte has only one spelling; `keep` is not encoded.
static void write_encoded (FILE *out, struct span text, char keep)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte == keep) {
            putc (byte, out);
            continue;
        }
        int decoded = percent_byte (span_of (text.data + i, text.size - i));
        if (decoded >= 0) {
            byte = (uint8_t)decoded;
            i += 2;
        }
        uint8_t low = byte | 0x20;
        if ((low >= 'a' && low <= 'z') || (byte >= '0' && byte <= '9') ||
            (byte && strchr ("-._~", byte)))
            putc (byte, out);
        else
            fprintf (out, "%%%02X", byte);
    }
}

static char *encoded_parameter (struct span text)
{
    char *name;
    size_t size;
    const uint8_t *equals = text.size ? memchr (text.data, '=', text.size) : NULL;
    size_t name_size = equals ? (size_t)(equals - text.data) : text.size;
    FILE *out = open_memstream (&name, &size);
    write_encoded (out, span_of (text.data, name_size), '\0');
    putc ('=', out);
    if (equals)
        write_encoded (out, span_of (equals + 1, text.size - name_size - 1), '\0');
    fclose (out);
    return name;
}

// Compare by name, then by value. Whole strings cannot be compared, since '-', '.' and digits sort
// before '='.
static int compare_parameters (const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    size_t size = strcspn (left, "="), right_size = strcspn (right, "=");
    int order = memcmp (left, right, size < right_size ? size : right_size);
    if (order)
        return order;
    if (size != right_size)
        return size < right_size ? -1 : 1;
    return strcmp (left + size, right + size);
}

static void write_canonical_query (FILE *out, struct span query)
{
    char *parameters[PARAMETERS_MAX];
    size_t count = 0, begin = 0;
    for (size_t i = 0; i <= query.size && count < PARAMETERS_MAX; i++) {
        if (i < query.size && query.data[i] != '&')
            continue;
        if (i > begin)
            parameters[count++] = encoded_parameter (span_of (query.data + begin, i - begin));
        begin = i + 1;
    }
    qsort (parameters, count, sizeof *parameters, compare_parameters);
    for (size_t i = 0; i < count; i++) {
        fprintf (out, "%s%s", i ? "&" : "", parameters[i]);
        free (parameters[i]);
    }
}

const char *signature_names (const struct signed_request *self, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < self->header_count && used < size; i++)
        used +=
            (size_t)snprintf (out + used, size - used, "%s%s", i ? ";" : "", self->headers[i].name);
    return out;
}

char *signature_canonical (const struct signed_request *self)
{
    char *text, hash[SIGNATURE_SIZE], names[256];
    size_t size;
    FILE *out = open_memstream (&text, &size);
    fprintf (out, "%s\n", self->method);
    write_encoded (out, self->path, '/');
    if (self->path.size == 0 || self->path.data[self->path.size - 1] != '/')
        putc ('/', out);
    putc ('\n', out);
    write_canonical_query (out, self->query);
    putc ('\n', out);
    for (size_t i = 0; i < self->header_count; i++)
        fprintf (out, "%s:%s\n", self->headers[i].name, self->headers[i].value);
    sha256_hex (self->body, hash);
    fprintf (out, "\n%s\n%s", signature_names (self, names, sizeof names), hash);
    fclose (out);
    return text;
}

// -- signatures

static void hmac_of_parts (struct span key, const struct span *parts, size_t count,
                           uint8_t ret[crypto_auth_hmacsha256_BYTES])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init (&state, key.data, key.size);
    for (size_t i = 0; i < count; i++)
        crypto_auth_hmacsha256_update (&state, parts[i].data, parts[i].size);
    crypto_auth_hmacsha256_final (&state, ret);
    sodium_memzero (&state, sizeof state);
}

void signature_aksk (const struct signed_request *self, const char *date, struct span sk,
                     char ret[SIGNATURE_SIZE])
{
    char hash[SIGNATURE_SIZE], text[SIGNATURE_SIZE + 64];
    uint8_t signature[crypto_auth_hmacsha256_BYTES];
    char *canonical = signature_canonical (self);
    sha256_hex (span_text (canonical), hash);
    free (canonical);
    snprintf (text, sizeof text, "SDK-HMAC-SHA256\n%.16s\n%s", date, hash);
    hmac_of_parts (sk, (struct span[]){span_text (text)}, 1, signature);
    sodium_bin2hex (ret, SIGNATURE_SIZE, signature, sizeof signature);
}

void signature_standard (struct span key, const char *id, int64_t timestamp, struct span body,
                         char ret[STANDARD_SIGNATURE_SIZE])
{
    char number[32];
    uint8_t signature[crypto_auth_hmacsha256_BYTES];
    snprintf (number, sizeof number, ".%" PRId64 ".", timestamp);
    const struct span parts[] = {span_text (id), span_text (number), body};
    hmac_of_parts (key, parts, 3, signature);
    memcpy (ret, "v1,", 3);
    base64_encode (span_of (signature, sizeof signature), ret + 3);
}
