// The files are read by a parser of our own. zconfig prints a line it cannot parse, which may
// contain a key, and ignores unknown fields; zcert accepts invalid keys.
#include "curve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#ifndef ZMQ_ZAP_ENFORCE_DOMAIN // the header of Debian 12 hides it as a draft; the library supports
                               // it
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

enum { FILE_MAX = 8192, NAME_MAX_SHOWN = 90 };

// -- keys

bool curve_key_valid (const char *text)
{
    uint8_t key[32];
    if (!text || strlen (text) != CURVE_KEY_SIZE - 1)
        return false;
    bool valid = zmq_z85_decode (key, text) != NULL;
    explicit_bzero (key, sizeof key);
    return valid;
}

bool curve_keys_belong (const struct curve_keys *keys)
{
    char public_key[CURVE_KEY_SIZE];
    return curve_key_valid (keys->public_key) && curve_key_valid (keys->secret_key) &&
           zmq_curve_public (public_key, keys->secret_key) == 0 &&
           strcmp (public_key, keys->public_key) == 0;
}

int curve_keys_make (struct curve_keys *ret, struct reason *reason)
{
    struct curve_keys keys;
    do {
        if (zmq_curve_keypair (keys.public_key, keys.secret_key))
            return reason_set (reason, "no keys can be made: %s", zmq_strerror (errno));
    } while (keys.public_key[0] == '-');
    *ret = keys;
    return 0;
}

// -- reading a certificate

enum section { SECTION_NONE, SECTION_METADATA, SECTION_CURVE };

static const struct curve_field {
    enum section section;
    const char *name;
    size_t offset, size; // in struct curve_cert
} fields[] = {
    {SECTION_METADATA, "name", offsetof (struct curve_cert, name), CURVE_NAME_SIZE},
    {SECTION_METADATA, "roles", offsetof (struct curve_cert, roles), CURVE_ROLES_SIZE},
    {SECTION_METADATA, "stations", offsetof (struct curve_cert, stations), CURVE_STATIONS_SIZE},
    {SECTION_METADATA, "speaks_for", offsetof (struct curve_cert, speaks_for),
     sizeof ((struct curve_cert *)NULL)->speaks_for},
    {SECTION_CURVE, "public-key", offsetof (struct curve_cert, keys.public_key), CURVE_KEY_SIZE},
    {SECTION_CURVE, "secret-key", offsetof (struct curve_cert, keys.secret_key), CURVE_KEY_SIZE},
};

struct cert_reader {
    enum section section;
    unsigned seen; // a bit for each row of `fields`
    struct curve_cert *cert;
};

// A value in the syntax of zconfig: in double or single quotes, or unquoted up to a '#'. After a
// quoted value only a comment is allowed. False: the quote is not closed, or other text follows it.
static bool read_zpl_value (struct span text, struct span *ret)
{
    text = span_trimmed (text);
    uint8_t quote = text.size ? text.data[0] : '\0';
    bool is_quoted = quote == '"' || quote == '\'';
    const uint8_t *end = is_quoted ? memchr (text.data + 1, quote, text.size - 1)
                                   : memchr (text.data, '#', text.size);
    if (!is_quoted) {
        *ret = span_trimmed (span_of (text.data, end ? (size_t)(end - text.data) : text.size));
        return true;
    }
    if (!end)
        return false;
    *ret = span_of (text.data + 1, (size_t)(end - text.data - 1));
    struct span rest = span_trimmed (span_of (end + 1, text.size - ret->size - 2));
    return rest.size == 0 || rest.data[0] == '#';
}

static const char *set_cert_field (struct cert_reader *self, struct span name, struct span value)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].section != self->section || !span_is (name, fields[i].name))
            continue;
        if (self->seen & (1u << i))
            return "is a duplicate";
        if (value.size >= fields[i].size)
            return "is too long";
        self->seen |= 1u << i;
        char *field = (char *)self->cert + fields[i].offset;
        memcpy (field, value.data, value.size);
        field[value.size] = '\0';
        return NULL;
    }
    return "is not a field of a certificate: metadata has name, roles, stations, speaks_for; curve "
           "has "
           "public-key, secret-key";
}

static const char *read_section_name (struct cert_reader *self, struct span text)
{
    const uint8_t *comment = memchr (text.data, '#', text.size);
    if (comment)
        text.size = (size_t)(comment - text.data);
    text = span_trimmed (text);
    if (span_is (text, "metadata"))
        self->section = SECTION_METADATA;
    else if (span_is (text, "curve"))
        self->section = SECTION_CURVE;
    else
        return "is not a section of a certificate: want metadata or curve";
    return NULL;
}

// Read one line of a certificate. Returns what is wrong with it, or NULL. The text must not quote
// the line, which may contain a key.
static const char *read_cert_line (struct cert_reader *self, struct span line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] < ' ' || line.data[i] == 0x7F)
            return "holds a control character";
    struct span text = span_trimmed (line);
    if (text.size == 0 || text.data[0] == '#')
        return NULL;
    if (line.data[0] != ' ')
        return read_section_name (self, text);
    const uint8_t *equals = memchr (text.data, '=', text.size);
    struct span value;
    if (!equals)
        return "is not NAME = \"VALUE\"";
    size_t size = (size_t)(equals - text.data);
    if (!read_zpl_value (span_of (equals + 1, text.size - size - 1), &value))
        return "has an unterminated quote, or text after it";
    return set_cert_field (self, span_trimmed (span_of (text.data, size)), value);
}

static int read_cert_lines (struct span text, struct curve_cert *ret, struct reason *reason)
{
    struct cert_reader reader = {.cert = ret};
    for (int number = 1; text.size; number++) {
        const char *wrong = read_cert_line (&reader, span_take_line (&text));
        if (wrong)
            return reason_set (reason, "line %d %s", number, wrong);
    }
    return 0;
}

static const char *find_key_error (const struct curve_keys *keys, enum curve_part part)
{
    if (!*keys->public_key)
        return "the public-key is missing";
    if (!curve_key_valid (keys->public_key))
        return "the public-key is not 40 characters of Z85";
    if (part == CURVE_PUBLIC)
        return *keys->secret_key ? "contains a secret key, which is not allowed here" : NULL;
    if (!*keys->secret_key)
        return "the secret-key is missing: want the file whose name ends with _secret";
    if (!curve_key_valid (keys->secret_key))
        return "the secret-key is not 40 characters of Z85";
    if (!curve_keys_belong (keys))
        return "the public-key does not belong to the secret-key";
    return NULL;
}

static int check_lists (const struct curve_cert *cert, struct reason *reason)
{
    unsigned roles;
    bool good = curve_roles_read (cert->roles, &roles, reason) == 0 &&
                curve_stations_check (cert->stations, reason) == 0;
    return good ? 0 : -1;
}

static int read_cert (struct span text, enum curve_part part, struct curve_cert *ret,
                      struct reason *reason)
{
    if (read_cert_lines (text, ret, reason))
        return -1;
    const char *trouble = find_key_error (&ret->keys, part);
    if (trouble)
        return reason_set (reason, "%s", trouble);
    if (ret->speaks_for[0] && strcmp (ret->speaks_for, "yes") != 0 &&
        strcmp (ret->speaks_for, "no") != 0)
        return reason_set (reason, "speaks_for: want yes or no");
    return check_lists (ret, reason);
}

static const char *find_file_error (int fd, bool *ret_shared)
{
    struct stat entry;
    if (fstat (fd, &entry))
        return strerror (errno);
    if (!S_ISREG (entry.st_mode))
        return "is not a file";
    if (entry.st_size > FILE_MAX)
        return "is too large for a certificate";
    *ret_shared = (entry.st_mode & 077) != 0;
    return NULL;
}

// Read the file, and whether others have access to it. Returns the size, or -1 with a reason.
static ssize_t read_cert_file (const char *path, char text[FILE_MAX], bool *ret_shared,
                               struct reason *reason)
{
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *trouble = fd < 0 ? strerror (errno) : find_file_error (fd, ret_shared);
    ssize_t size = 0, more = 1;
    while (!trouble && more > 0 && size < FILE_MAX) {
        more = TEMP_FAILURE_RETRY (read (fd, text + size, (size_t)(FILE_MAX - size)));
        size += more > 0 ? more : 0;
        if (more < 0)
            trouble = strerror (errno);
    }
    if (trouble)
        reason_set (reason, "%s", trouble);
    if (fd >= 0)
        close (fd);
    return trouble ? -1 : size;
}

// Make a reason that begins with the file's name, or with the end of a long name, so that there is
// room for the error.
static void set_file_reason (struct reason *reason, const char *path, const struct reason *why)
{
    size_t size = strlen (path);
    bool is_long = size > NAME_MAX_SHOWN;
    reason_set (reason, "%s%s: %s", is_long ? "..." : "",
                is_long ? path + size - NAME_MAX_SHOWN : path, why->text);
}

int curve_cert_load (const char *path, enum curve_part part, struct curve_cert *ret,
                     struct reason *reason)
{
    char text[FILE_MAX];
    struct reason why;
    struct curve_cert cert = {0};
    bool shared = true;
    ssize_t size = read_cert_file (path, text, &shared, &why);
    int rc = size < 0 ? -1 : read_cert (span_of (text, (size_t)size), part, &cert, &why);
    // Checked last, so that a public certificate, readable by all, gets its own error.
    if (!rc && part == CURVE_SECRET && shared) {
        reason_set (&why, "others may use this secret: chmod 600 it");
        rc = -1;
    }
    if (rc)
        set_file_reason (reason, path, &why);
    else
        *ret = cert;
    explicit_bzero (text, sizeof text);
    explicit_bzero (&cert, sizeof cert);
    return rc;
}

// -- writing a certificate

int curve_cert_check (const struct curve_cert *cert, struct reason *reason)
{
    size_t size = strlen (cert->name);
    if (size == 0 || cert->name[0] == '.' || strspn (cert->name, CURVE_NAME_CHARACTERS) != size)
        return reason_set (reason,
                           "name: want 1..64 of A-Z a-z 0-9 _ . - without a leading dot, got %s",
                           quoted (span_text (cert->name)));
    return check_lists (cert, reason);
}

static void print_cert (FILE *file, const struct curve_cert *cert, enum curve_part part)
{
    fprintf (file, part == CURVE_SECRET
                       ? "#   The secret certificate of a ZeroMQ CURVE peer. Keep it secret.\n"
                       : "#   The public certificate of a ZeroMQ CURVE peer, for the folder of "
                         "allowed keys.\n");
    fprintf (file, "metadata\n    name = \"%s\"\n", cert->name);
    if (*cert->roles)
        fprintf (file, "    roles = \"%s\"\n", cert->roles);
    if (*cert->stations)
        fprintf (file, "    stations = \"%s\"\n", cert->stations);
    if (*cert->speaks_for)
        fprintf (file, "    speaks_for = \"%s\"\n", cert->speaks_for);
    fprintf (file, "curve\n    public-key = \"%s\"\n", cert->keys.public_key);
    if (part == CURVE_SECRET)
        fprintf (file, "    secret-key = \"%s\"\n", cert->keys.secret_key);
}

// Create and write a file; an existing one is an error.
static int write_cert (const char *path, const struct curve_cert *cert, enum curve_part part,
                       struct reason *reason)
{
    struct reason why;
    int fd =
        open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, part == CURVE_SECRET ? 0600 : 0644);
    FILE *file = fd < 0 ? NULL : fdopen (fd, "w");
    bool written = false;
    if (file) {
        print_cert (file, cert, part);
        written = fflush (file) == 0 && fsync (fd) == 0;
    }
    reason_set (&why, "%s",
                errno == EEXIST ? "already exists, and is not overwritten" : strerror (errno));
    if (file ? fclose (file) : fd < 0 ? 0 : close (fd))
        written = false;
    if (written)
        return 0;
    if (fd >= 0)
        unlink (path);
    set_file_reason (reason, path, &why);
    return -1;
}

int curve_cert_save (const char *folder, const struct curve_cert *cert,
                     char ret_public[CURVE_PATH_SIZE], char ret_secret[CURVE_PATH_SIZE],
                     struct reason *reason)
{
    assert (curve_keys_belong (&cert->keys));
    if (curve_cert_check (cert, reason))
        return -1;
    if (strlen (folder) + CURVE_NAME_SIZE + sizeof "/.key_secret" > CURVE_PATH_SIZE)
        return reason_set (reason, "the folder's path is too long");
    const char *slash = *folder && folder[strlen (folder) - 1] == '/' ? "" : "/";
    snprintf (ret_public, CURVE_PATH_SIZE, "%s%s%s.key", folder, slash, cert->name);
    snprintf (ret_secret, CURVE_PATH_SIZE, "%s%s%s.key_secret", folder, slash, cert->name);
    if (write_cert (ret_secret, cert, CURVE_SECRET, reason))
        return -1;
    if (write_cert (ret_public, cert, CURVE_PUBLIC, reason) == 0)
        return 0;
    unlink (ret_secret);
    return -1;
}

// -- sockets

static void set_socket_option (void *socket, int option, const void *value, size_t size)
{
    int rc = zmq_setsockopt (socket, option, value, size);
    assert (rc == 0);
    (void)rc;
}

// Set the keys of a socket. The size includes the NUL, so libzmq reads the keys as Z85.
static void set_socket_keys (void *socket, const struct curve_keys *own)
{
    set_socket_option (socket, ZMQ_CURVE_PUBLICKEY, own->public_key, CURVE_KEY_SIZE);
    set_socket_option (socket, ZMQ_CURVE_SECRETKEY, own->secret_key, CURVE_KEY_SIZE);
}

void curve_make_client (void *socket, const struct curve_keys *own, const char *server_key)
{
    set_socket_option (socket, ZMQ_CURVE_SERVERKEY, server_key, CURVE_KEY_SIZE);
    set_socket_keys (socket, own);
}

void curve_make_server (void *socket, const struct curve_keys *own, const char *domain)
{
    int yes = 1;
    set_socket_option (socket, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    set_socket_keys (socket, own);
    set_socket_option (socket, ZMQ_ZAP_DOMAIN, domain, strlen (domain));
    set_socket_option (socket, ZMQ_ZAP_ENFORCE_DOMAIN, &yes, sizeof yes);
}
