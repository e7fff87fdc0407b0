#include "secret.h"

#include <sodium.h>
#include <stdio.h>
#include <strings.h>

#include "base64.h"
#include "nearest.h"

#define BETWEEN " \t,"

// -- lines

struct line_field {
    const char *name;
    char *to; // "" = not given yet
    size_t size;
};

static int read_field_line (const struct line_field *fields, size_t count, struct span line,
                            int number, struct reason *reason)
{
    const uint8_t *equals = memchr (line.data, '=', line.size);
    size_t at = equals ? (size_t)(equals - line.data) : 0;
    struct span name = span_trimmed (span_of (line.data, at)), value = {0};
    const struct line_field *field = NULL;
    for (size_t i = 0; equals && i < count; i++)
        if (span_is (name, fields[i].name) && (!field || field->to[0]))
            field = &fields[i]; // `key` may be given twice
    if (!field)
        return reason_set (reason, "line %d: want NAME = VALUE with a known name", number);
    value = span_trimmed (span_of (equals + 1, line.size - at - 1));
    if (field->to[0] || value.size == 0 || value.size >= field->size)
        return reason_set (reason, "line %d: %s: want one value of 1..%zu bytes", number,
                           field->name, field->size - 1);
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < 0x20 || value.data[i] > 0x7e)
            return reason_set (reason, "line %d: %s: want printable ASCII", number, field->name);
    memcpy (field->to, value.data, value.size);
    return 0;
}

static int read_field_lines (const struct line_field *fields, size_t count, struct span text,
                             struct reason *reason)
{
    for (int number = 1; text.size; number++) {
        struct span line = span_trimmed (span_take_line (&text));
        if (line.size && line.data[0] != '#' &&
            read_field_line (fields, count, line, number, reason))
            return -1;
    }
    return 0;
}

// -- secrets

// Parse a key of the form whsec_BASE64. False: invalid.
static bool read_standard_key (const char *text, struct secret_key *ret)
{
    uint8_t bytes[SECRET_VALUE_SIZE];
    size_t size = 0;
    bool read = strncmp (text, "whsec_", 6) == 0 &&
                base64_decode (span_text (text + 6), bytes, &size) && size >= STANDARD_KEY_MIN &&
                size <= STANDARD_KEY_MAX;
    if (read)
        memcpy (ret->bytes, bytes, size);
    ret->size = size;
    sodium_memzero (bytes, sizeof bytes);
    return read;
}

static int check_secret (struct secret *self, const char *type, char keys[][SECRET_VALUE_SIZE],
                         struct reason *reason)
{
    static const char *const types[] = {[SECRET_NONE] = "none",
                                        [SECRET_AKSK] = "aksk",
                                        [SECRET_STANDARD] = "standard",
                                        [SECRET_HEADER] = "header"};
    int found = word_index (types, SECRET_HEADER + 1, type);
    self->type = (enum secret_type)found;
    for (size_t i = 0; i < SECRET_KEYS_MAX && keys[i][0]; i++, self->key_count++)
        if (!read_standard_key (keys[i], &self->keys[i]))
            return reason_set (reason, "key: want whsec_ and base64 of %d..%d bytes",
                               STANDARD_KEY_MIN, STANDARD_KEY_MAX);
    const struct {
        const char *name;
        bool given, wanted;
    } rows[] = {
        {"hosts", self->hosts[0], true},
        {"targets", self->targets[0], true},
        {"ak", self->ak[0], found == SECRET_AKSK},
        {"sk", self->sk[0], found == SECRET_AKSK},
        {"key", self->key_count, found == SECRET_STANDARD},
        {"name", self->name[0], found == SECRET_HEADER},
        {"value", self->value[0], found == SECRET_HEADER},
    };
    if (found < 0)
        return reason_set (reason, "type: want aksk, standard, header or none");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given != rows[i].wanted)
            return reason_set (reason, "%s: %s with type %s", rows[i].name,
                               rows[i].wanted ? "is required" : "is not used", types[found]);
    return 0;
}

int secret_read (struct span text, void *secret, struct reason *reason)
{
    struct secret read = {0};
    char type[16] = "", keys[SECRET_KEYS_MAX][SECRET_VALUE_SIZE] = {""};
    const struct line_field fields[] = {
        {"type", type, sizeof type},
        {"ak", read.ak, sizeof read.ak},
        {"sk", read.sk, sizeof read.sk},
        {"key", keys[0], sizeof keys[0]},
        {"key", keys[1], sizeof keys[1]},
        {"name", read.name, sizeof read.name},
        {"value", read.value, sizeof read.value},
        {"hosts", read.hosts, sizeof read.hosts},
        {"targets", read.targets, sizeof read.targets},
    };
    int rc = read_field_lines (fields, sizeof fields / sizeof *fields, text, reason);
    if (rc == 0)
        rc = check_secret (&read, type, keys, reason);
    if (rc == 0)
        *(struct secret *)secret = read;
    sodium_memzero (keys, sizeof keys);
    secret_wipe (&read);
    return rc;
}

void secret_wipe (struct secret *self)
{
    sodium_memzero (self, sizeof *self);
}

int receiver_read (struct span text, void *receiver, struct reason *reason)
{
    struct receiver read = {0};
    const struct line_field fields[] = {{"url", read.url, sizeof read.url},
                                        {"targets", read.targets, sizeof read.targets}};
    if (read_field_lines (fields, 2, text, reason))
        return -1;
    if (!read.url[0])
        return reason_set (reason, "url: is required");
    *(struct receiver *)receiver = read;
    return 0;
}

// -- permissions

// The next item of the list. False: there are no more.
static bool next_list_item (const char **list, struct span *ret)
{
    const char *begin = *list + strspn (*list, BETWEEN);
    *ret = span_of (begin, strcspn (begin, BETWEEN));
    *list = begin + ret->size;
    return ret->size > 0;
}

bool target_list_matches (const char *list, const char *name)
{
    struct span word;
    while (next_list_item (&list, &word)) {
        if (span_is (word, name))
            return true;
        if (word.data[word.size - 1] == '*' &&
            strncmp ((const char *)word.data, name, word.size - 1) == 0)
            return true;
    }
    return false;
}

static bool host_list_matches (const char *list, const struct callback_url *url)
{
    char host[CALLBACK_HOST_SIZE + 16];
    struct span word;
    bool bracketed = strchr (url->host, ':');
    bool default_port = url->port == (url->https ? 443 : 80);
    snprintf (host, sizeof host, default_port ? "%s%s%s" : "%s%s%s:%d", bracketed ? "[" : "",
              url->host, bracketed ? "]" : "", url->port);
    while (next_list_item (&list, &word))
        if (word.size == strlen (host) &&
            strncasecmp ((const char *)word.data, host, word.size) == 0)
            return true;
    return false;
}

bool secret_is_allowed (const struct secret *self, const struct callback_url *url,
                        const char *source)
{
    return host_list_matches (self->hosts, url) && target_list_matches (self->targets, source);
}
