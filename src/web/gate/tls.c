// Loads the certificate and the key of HTTPS, and reloads them when their files change.
//
// A handshake in progress points to the pair it began with. So a replaced pair is kept until the
// next replacement, and that one waits until every handshake begun with the kept pair has reached
// its header deadline.
#include "tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "memory.h"

enum {
    CHAIN_MAX = 16,
    FILE_MAX = 65536,
    CHECK_FILES_MS = 1000,
    HANDSHAKE_US = 15000000, // longer than the deadline of a header
};

const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct key_pair {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key; // NULL: none
};

// The version of a file.
struct file_stamp {
    ino_t node;
    off_t size;
    struct timespec changed;
};

struct tls {
    struct reactor *reactor;
    const char *cert, *key;
    struct timer timer;
    struct file_stamp stamps[2], rejected[2]; // of the files in use; of those logged as unusable
    struct key_pair *pair, *previous; // previous: for handshakes that began before replaced_us
    int64_t replaced_us;
};

static struct tls *serving;

// -- the files

static int read_tls_file (const char *setting, const char *path, mode_t open_to,
                          gnutls_datum_t *ret, struct reason *reason)
{
    struct stat entry;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat (fd, &entry)) {
        reason_set (reason, "%s: %s: %s", setting, quoted (span_text (path)), strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    uint8_t *bytes = memory_new (FILE_MAX);
    ssize_t size = S_ISREG (entry.st_mode) ? read (fd, bytes, FILE_MAX) : -1;
    close (fd);
    if (size >= 0 && size < FILE_MAX && !(entry.st_mode & open_to)) {
        *ret = (gnutls_datum_t){bytes, (unsigned)size};
        return 0;
    }
    explicit_bzero (bytes, FILE_MAX);
    free (bytes);
    return reason_set (reason, "%s: %s: want %s", setting, quoted (span_text (path)),
                       size < 0 || size == FILE_MAX
                           ? "a file below 64 KiB"
                           : "mode 0600 or 0640: others can read or change it");
}

static void pair_destroy (struct key_pair **self_p)
{
    struct key_pair *self = *self_p;
    if (!self)
        return;
    for (unsigned i = 0; i < self->count; i++)
        gnutls_pcert_deinit (&self->chain[i]);
    if (self->key)
        gnutls_privkey_deinit (self->key);
    free (self);
    *self_p = NULL;
}

static int read_chain (struct key_pair *self, const char *path, struct reason *reason)
{
    gnutls_datum_t text;
    unsigned count = CHAIN_MAX;
    if (read_tls_file ("tls_cert", path, 0, &text, reason))
        return -1;
    int error = gnutls_pcert_list_import_x509_raw (self->chain, &count, &text, GNUTLS_X509_FMT_PEM,
                                                   GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    free (text.data);
    if (error < 0)
        reason_set (reason, "tls_cert: %s: want certificates as PEM: %s", quoted (span_text (path)),
                    gnutls_strerror (error));
    else
        self->count = count;
    return error < 0 ? -1 : 0;
}

static int read_key (struct key_pair *self, const char *path, struct reason *reason)
{
    gnutls_datum_t text;
    if (read_tls_file ("tls_key", path, S_IRWXO | S_IWGRP, &text, reason))
        return -1;
    int error = gnutls_privkey_init (&self->key);
    if (error >= 0)
        error = gnutls_privkey_import_x509_raw (self->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    explicit_bzero (text.data, FILE_MAX);
    free (text.data);
    if (error < 0)
        reason_set (reason, "tls_key: %s: want a private key as PEM, without a password: %s",
                    quoted (span_text (path)), gnutls_strerror (error));
    return error < 0 ? -1 : 0;
}

static bool is_matching_pair (const struct key_pair *self)
{
    uint8_t ids[2][64];
    size_t sizes[2] = {sizeof ids[0], sizeof ids[1]};
    gnutls_pubkey_t public;
    if (gnutls_pubkey_init (&public) < 0)
        return false;
    bool fits = gnutls_pubkey_import_privkey (public, self->key, 0, 0) >= 0 &&
                gnutls_pubkey_get_key_id (public, 0, ids[0], &sizes[0]) >= 0 &&
                gnutls_pubkey_get_key_id (self->chain[0].pubkey, 0, ids[1], &sizes[1]) >= 0 &&
                sizes[0] == sizes[1] && memcmp (ids[0], ids[1], sizes[0]) == 0;
    gnutls_pubkey_deinit (public);
    return fits;
}

static struct key_pair *pair_read (const struct tls *tls, struct reason *reason)
{
    struct key_pair *self = memory_new (sizeof *self);
    if (read_chain (self, tls->cert, reason) == 0 && read_key (self, tls->key, reason) == 0) {
        if (is_matching_pair (self))
            return self;
        reason_set (reason, "tls_key: %s is not the key of %s", quoted (span_text (tls->key)),
                    quoted (span_text (tls->cert)));
    }
    pair_destroy (&self);
    return NULL;
}

// -- changes

static struct file_stamp read_file_stamp (const char *path)
{
    struct stat entry;
    struct file_stamp stamp;
    memset (&stamp, 0, sizeof stamp); // stamps are compared as bytes, with padding
    if (stat (path, &entry) == 0) {
        stamp.node = entry.st_ino;
        stamp.size = entry.st_size;
        stamp.changed = entry.st_ctim;
    }
    return stamp;
}

// Load the files if they have changed. Files that change while they are read are read again at the
// next check.
static void on_timer (void *owner)
{
    struct tls *self = owner;
    struct reason reason;
    const struct file_stamp now[2] = {read_file_stamp (self->cert), read_file_stamp (self->key)};
    timer_set (&self->timer, self->reactor, CHECK_FILES_MS);
    if (memcmp (now, self->stamps, sizeof now) == 0 ||
        clock_mono_us () - self->replaced_us < HANDSHAKE_US)
        return;
    struct key_pair *pair = pair_read (self, &reason);
    if (pair) {
        memcpy (self->stamps, now, sizeof now);
        pair_destroy (&self->previous);
        self->previous = self->pair;
        self->pair = pair;
        self->replaced_us = clock_mono_us ();
        log_event (LEVEL_INFO, "tls.read", "file=%s", quoted (span_text (self->cert)));
    } else if (memcmp (now, self->rejected, sizeof now) != 0) {
        memcpy (self->rejected, now, sizeof now);
        log_event (LEVEL_WARN, "tls.unusable", "reason=\"%s\"", reason.text);
    }
}

// -- the server

static int on_handshake (gnutls_session_t session, const gnutls_datum_t *authorities, int count,
                         const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                         gnutls_pcert_st **ret_chain, unsigned *ret_count,
                         gnutls_privkey_t *ret_key)
{
    (void)session, (void)authorities, (void)count, (void)algorithms, (void)algorithm_count;
    *ret_chain = serving->pair->chain;
    *ret_count = serving->pair->count;
    *ret_key = serving->pair->key;
    return 0;
}

void *tls_callback (void)
{
    gnutls_certificate_retrieve_function2 *call = on_handshake;
    void *bytes; // the type that MHD takes
    memcpy (&bytes, &call, sizeof bytes);
    return bytes;
}

struct tls *tls_new (struct reactor *reactor, const char *cert, const char *key,
                     struct reason *reason)
{
    struct tls *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->cert = cert;
    self->key = key;
    self->timer = (struct timer){.call = on_timer, .owner = self};
    self->stamps[0] = read_file_stamp (cert);
    self->stamps[1] = read_file_stamp (key);
    self->replaced_us = -HANDSHAKE_US;
    self->pair = pair_read (self, reason);
    if (!self->pair) {
        tls_destroy (&self);
        return NULL;
    }
    timer_set (&self->timer, reactor, CHECK_FILES_MS);
    serving = self;
    return self;
}

void tls_destroy (struct tls **self_p)
{
    struct tls *self = *self_p;
    if (!self)
        return;
    if (serving == self)
        serving = NULL;
    timer_end (&self->timer);
    pair_destroy (&self->pair);
    pair_destroy (&self->previous);
    free (self);
    *self_p = NULL;
}
