#include "users.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "daemon.h"
#include "key_folder.h"
#include "log.h"
#include "memory.h"
#include "server.h"
#include "user_load.h"

enum {
    USERS_MAX = 1000,
    KEYS_MAX = 64, // keys of users, each with its own connection to the station
    SESSIONS_MAX = 10000,
    TOKEN_SESSIONS_MAX = 64, // sessions of one token
    BUCKETS = 1024,
    CHECK_MS = 500,          // between two checks of the files of users
    SWEEP_US = 60000000,     // between two removals of ended sessions
    SESSION_S = 12 * 3600,   // maximum age of a session
    IDLE_S = 3600,           // maximum time of a session without a request
    PER_SECOND = 50,         // requests of a session per second
    USER_EXCHANGES_MAX = 64, // concurrent exchanges of one user
    WRONG_PER_SECOND = 10,   // wrong tokens per second from the addresses of one row
    WRONG_ROWS = 256         // addresses share rows by their hash
};

#define SUFFIX ".user"

// A connection to the station, shared by the users of a key.
struct key {
    char path[USER_PATH_SIZE];
    struct gateway *gateway; // NULL: unused entry
    size_t exchanges;        // exchanges that use the key
    bool wanted;             // named in the file of a user
    bool replaced;           // the key file has changed since it was read
    uint64_t mark;           // key_file_mark when the key was read
};

// A rate limiter: counts the events of one second of the monotonic clock.
struct pace {
    int64_t second;
    int count;
};

struct user {
    struct user_file file;
    size_t exchanges;
    struct pace paces[USER_TOKENS_MAX]; // rates of its tokens
};

struct session {
    struct session *next;
    uint8_t sum[TOKEN_SUM_SIZE], token[TOKEN_SUM_SIZE]; // hashes of the session and of its token
    char user[USER_NAME_SIZE];
    int64_t end_us, idle_us;
    struct pace pace;
};

struct users {
    struct reactor *reactor;
    const struct web_settings *settings;
    struct gateway *own;
    struct timer timer;
    uint64_t mark; // key_folder_mark when the folder was read
    int64_t swept_us;
    struct user *users;
    size_t count;
    struct key keys[KEYS_MAX];
    struct session *sessions[BUCKETS];
    size_t session_count;
    struct pace wrong[WRONG_ROWS]; // wrong tokens, by address
};

// Count an event. False: there are more than `most` in this second.
static bool pace_try (struct pace *self, int most)
{
    int64_t second = clock_mono_us () / 1000000;
    if (self->second != second)
        *self = (struct pace){.second = second};
    return self->count++ < most;
}

static int64_t now_s (void)
{
    return clock_wall_us () / 1000000;
}

// -- the folder

static struct user *find_user (const struct users *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp (self->users[i].file.name, name) == 0)
            return &self->users[i];
    return NULL;
}

// The file NAME.user must name the user NAME, so that no two files are for one user.
static void add_user (struct users *self, const char *file_name, struct user *list, size_t *count)
{
    struct reason reason;
    struct user_file file;
    char path[SETTING_TEXT_MAX + 300];
    bool wants_key = self->settings->server_key[0] != '\0';
    size_t size = strlen (file_name) - strlen (SUFFIX);
    snprintf (path, sizeof path, "%s/%s", self->settings->users, file_name);
    if (user_load (path, &file, &reason) == 0) {
        const struct user *before = find_user (self, file.name);
        if (strlen (file.name) != size || memcmp (file.name, file_name, size) != 0)
            reason_set (&reason, "name: want that of the file");
        else if (wants_key != (file.key[0] != '\0'))
            reason_set (&reason,
                        "key: is wanted where the station has certificates, and only there");
        else {
            list[*count].exchanges = before ? before->exchanges : 0;
            // Writing the file does not reset the rate limits of its tokens.
            for (size_t i = 0; before && i < file.token_count; i++) {
                int at = user_token_at (&before->file, file.tokens[i].sum);
                if (at >= 0)
                    list[*count].paces[i] = before->paces[at];
            }
            list[(*count)++].file = file;
            return;
        }
    }
    log_event (LEVEL_WARN, "user.rejected", "file=%s reason=\"%s\"", quoted (span_text (path)),
               reason.text);
}

static bool session_is_valid (const struct users *self, const struct session *session)
{
    const struct user *user = find_user (self, session->user);
    int64_t now_us = clock_mono_us ();
    return user && now_us < session->end_us && now_us < session->idle_us &&
           user_has_token (&user->file, session->token, now_s ());
}

static void sweep_sessions (struct users *self)
{
    self->swept_us = clock_mono_us ();
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct session **at = &self->sessions[i]; *at;) {
            struct session *session = *at;
            if (session_is_valid (self, session)) {
                at = &session->next;
                continue;
            }
            *at = session->next;
            self->session_count--;
            free (session);
        }
    for (size_t i = 0; i < KEYS_MAX; i++)
        if (self->keys[i].gateway && !self->keys[i].wanted && !self->keys[i].exchanges)
            gateway_destroy (&self->keys[i].gateway);
}

static int read_users_folder (struct users *self, struct reason *reason)
{
    const char *folder = self->settings->users;
    uint64_t mark = key_folder_mark (folder);
    DIR *entries = opendir (folder);
    if (!entries)
        return reason_set (reason, "users: %s: %s", quoted (span_text (folder)), strerror (errno));
    struct user *list = memory_new (USERS_MAX * sizeof *list);
    size_t count = 0;
    for (const struct dirent *entry; count < USERS_MAX && (entry = readdir (entries));) {
        size_t size = strlen (entry->d_name);
        if (entry->d_name[0] != '.' && size > strlen (SUFFIX) &&
            strcmp (entry->d_name + size - strlen (SUFFIX), SUFFIX) == 0)
            add_user (self, entry->d_name, list, &count);
    }
    closedir (entries);
    free (self->users);
    self->users = list;
    self->count = count;
    self->mark = mark;
    for (size_t i = 0; i < KEYS_MAX; i++) {
        self->keys[i].wanted = false;
        for (size_t at = 0; at < count; at++)
            if (strcmp (list[at].file.key, self->keys[i].path) == 0)
                self->keys[i].wanted = !self->keys[i].replaced;
    }
    log_event (LEVEL_INFO, "users.read", "count=%zu", count);
    sweep_sessions (self);
    return 0;
}

// Mark keys whose file was replaced: they end with their last exchange; new ones read the file.
static void check_key_files (struct users *self)
{
    for (struct key *key = self->keys; key < self->keys + KEYS_MAX; key++) {
        if (!key->gateway || key->replaced)
            continue;
        key->replaced = key->mark != key_file_mark (key->path);
        key->wanted = key->wanted && !key->replaced;
    }
}

static void on_timer (void *owner)
{
    struct users *self = owner;
    struct reason reason;
    uint64_t mark = key_folder_mark (self->settings->users);
    if ((!mark || mark != self->mark) && read_users_folder (self, &reason))
        log_event (LEVEL_WARN, "users.unreadable", "reason=\"%s\"", reason.text);
    check_key_files (self);
    if (clock_mono_us () - self->swept_us >= SWEEP_US)
        sweep_sessions (self);
    timer_set (&self->timer, self->reactor, CHECK_MS);
}

struct users *users_new (struct reactor *reactor, const struct web_settings *settings,
                         struct gateway *own, struct reason *reason)
{
    struct users *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->settings = settings;
    self->own = own;
    self->timer = (struct timer){.call = on_timer, .owner = self};
    if (read_users_folder (self, reason)) {
        users_destroy (&self);
        return NULL;
    }
    timer_set (&self->timer, reactor, CHECK_MS);
    return self;
}

void users_end (struct users *self)
{
    for (size_t i = 0; self && i < KEYS_MAX; i++)
        gateway_destroy (&self->keys[i].gateway);
}

void users_destroy (struct users **self_p)
{
    struct users *self = *self_p;
    if (!self)
        return;
    timer_end (&self->timer);
    users_end (self);
    self->count = 0; // so that no session is valid
    sweep_sessions (self);
    free (self->users);
    free (self);
    *self_p = NULL;
}

// -- keys

static struct key *find_or_open_key (struct users *self, const char *path, struct reason *reason)
{
    struct key *place = NULL;
    for (size_t i = 0; i < KEYS_MAX; i++) {
        struct key *key = &self->keys[i];
        if (key->gateway && !key->replaced && strcmp (key->path, path) == 0)
            return key;
        if (!key->gateway)
            place = key;
    }
    if (!place) {
        reason_set (reason, "there are 64 keys already");
        return NULL;
    }
    uint64_t mark = key_file_mark (path); // first, to notice a change while reading
    const struct daemon_station station = {self->settings->connect, self->settings->server_key,
                                           path};
    struct zplan_client *client = daemon_connect (&station, reason);
    if (!client)
        return NULL;
    *place =
        (struct key){.gateway = gateway_new (self->reactor, client), .wanted = true, .mark = mark};
    snprintf (place->path, sizeof place->path, "%s", path);
    return place;
}

// -- requests

static bool deny_request (struct exchange *self, unsigned status, const char *code,
                          const char *words)
{
    if (status == 401)
        exchange_add_header (self, "WWW-Authenticate", "Bearer");
    else
        exchange_add_header (self, "Retry-After", "1");
    exchange_add_header (self, "Connection", "close");
    exchange_problem (self, status, code, "%s", words);
    return true;
}

static bool deny_token (struct exchange *self)
{
    struct users *users = self->server->users;
    uint32_t row = 5381;
    for (const char *at = self->address; *at; at++)
        row = row * 33 + (unsigned char)*at;
    if (!pace_try (&users->wrong[row % WRONG_ROWS], WRONG_PER_SECOND))
        return deny_request (self, 429, "too_many", "too many requests without a right token");
    return deny_request (self, 401, "no_token",
                         "want Authorization: Bearer with a token or a session");
}

static const char *bearer_text (const struct exchange *self)
{
    const char *value = exchange_request_header (self, "Authorization");
    return value && strncmp (value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

static struct session *find_session (struct users *self, const uint8_t sum[TOKEN_SUM_SIZE])
{
    size_t bucket = (sum[0] | (size_t)sum[1] << 8) % BUCKETS;
    for (struct session *session = self->sessions[bucket]; session; session = session->next)
        if (sodium_memcmp (session->sum, sum, TOKEN_SUM_SIZE) == 0)
            return session_is_valid (self, session) ? session : NULL;
    return NULL;
}

static struct user *user_of_token (struct users *self, const uint8_t sum[TOKEN_SUM_SIZE])
{
    struct user *found = NULL;
    for (size_t i = 0; i < self->count; i++)
        if (user_has_token (&self->users[i].file, sum, now_s ()))
            found = &self->users[i];
    return found;
}

// Set user and connection of the exchange. True: it was rejected instead, and answered.
static bool set_exchange_user (struct exchange *self, struct user *user)
{
    struct users *users = self->server->users;
    struct reason reason;
    struct key *key = NULL;
    if (user->exchanges >= USER_EXCHANGES_MAX)
        return deny_request (self, 429, "too_many", "64 requests of this user are in progress");
    if (user->file.key[0] && !(key = find_or_open_key (users, user->file.key, &reason))) {
        log_event (LEVEL_WARN, "key.unusable", "user=%s reason=\"%s\"", user->file.name,
                   reason.text);
        return deny_request (self, 503, "no_key",
                             "the key of this user cannot be used: see the log");
    }
    user->exchanges++;
    self->key = users_key_hold (key);
    self->gateway = key ? key->gateway : users->own;
    snprintf (self->name, sizeof self->name, "%s", user->file.name);
    self->user = self->name;
    return false;
}

// Reject a token that exceeds its rate; requests of its sessions count for it. True: the request
// was answered.
static bool deny_rate (struct exchange *self, struct user *user, const uint8_t sum[TOKEN_SUM_SIZE])
{
    int at = user->file.rate ? user_token_at (&user->file, sum) : -1;
    return at >= 0 && !pace_try (&user->paces[at], user->file.rate) &&
           deny_request (self, 429, "too_many",
                         "the requests of this token in this second: see rate");
}

bool users_authenticate (struct exchange *self)
{
    struct users *users = self->server->users;
    const struct route *route = self->routed.route;
    if (!users || !route || !route->role[0])
        return false;
    const char *text = bearer_text (self);
    if (!text)
        return deny_token (self);
    token_sum (text, self->token);
    struct session *session =
        strncmp (text, "zps_", 4) == 0 ? find_session (users, self->token) : NULL;
    struct user *user =
        session ? find_user (users, session->user) : user_of_token (users, self->token);
    if (!user) {
        audit_wrong_token (self->server->audit, self);
        return deny_token (self);
    }
    if (session && !pace_try (&session->pace, PER_SECOND))
        return deny_request (self, 429, "too_many", "50 requests of a session a second");
    if (deny_rate (self, user, session ? session->token : self->token))
        return true;
    if (session)
        session->idle_us = clock_mono_us () + IDLE_S * 1000000LL;
    return set_exchange_user (self, user);
}

bool users_may_continue (const struct exchange *self)
{
    struct users *users = self->server->users;
    return !users || !self->user || users_is_valid (users, self->token, self->key);
}

bool users_is_valid (struct users *self, const uint8_t sum[TOKEN_SUM_SIZE], const struct key *key)
{
    const struct session *session = find_session (self, sum);
    const struct user *user = session ? find_user (self, session->user) : user_of_token (self, sum);
    return user && !(key && key->replaced) && strcmp (user->file.key, key ? key->path : "") == 0;
}

const char *users_key_name (const struct key *key)
{
    const char *slash = key ? strrchr (key->path, '/') : NULL;
    return slash ? slash + 1 : key ? key->path : NULL;
}

struct key *users_key_hold (struct key *key)
{
    if (key)
        key->exchanges++;
    return key;
}

void users_key_release (struct key *key)
{
    if (key)
        key->exchanges--;
}

void users_leave (struct exchange *self)
{
    struct users *users = self->server->users;
    if (!users || !self->user)
        return;
    struct user *user = find_user (users, self->user);
    if (user && user->exchanges)
        user->exchanges--;
    users_key_release (self->key);
}

// -- sessions

// End the least recently used session of a token at its limit: no user can use up all sessions.
static void end_idle_session (struct users *self, const uint8_t token[TOKEN_SUM_SIZE])
{
    struct session *idlest = NULL;
    size_t count = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct session *session = self->sessions[i]; session; session = session->next) {
            if (memcmp (session->token, token, TOKEN_SUM_SIZE) != 0 ||
                !session_is_valid (self, session))
                continue;
            count++;
            if (!idlest || session->idle_us < idlest->idle_us)
                idlest = session;
        }
    if (count >= TOKEN_SESSIONS_MAX)
        idlest->end_us = 0; // no longer valid; the next sweep frees it
}

bool users_sign_in (struct users *self, struct exchange *exchange, const char *token, char out[48])
{
    uint8_t sum[TOKEN_SUM_SIZE];
    token_sum (token, sum);
    struct user *user = user_of_token (self, sum);
    if (!user) {
        audit_wrong_token (exchange->server->audit, exchange);
        deny_token (exchange);
        return false;
    }
    if (deny_rate (exchange, user, sum))
        return false;
    if (self->session_count >= SESSIONS_MAX)
        sweep_sessions (self);
    end_idle_session (self, sum);
    if (self->session_count >= SESSIONS_MAX) {
        deny_request (exchange, 503, "too_many", "there are 10000 sessions already");
        return false;
    }
    if (set_exchange_user (exchange, user))
        return false;
    struct session *session = memory_new (sizeof *session);
    token_make ("zps_", out);
    token_sum (out, session->sum);
    memcpy (session->token, sum, sizeof sum);
    memcpy (session->user, user->file.name, sizeof session->user);
    session->end_us = clock_mono_us () + SESSION_S * 1000000LL;
    session->idle_us = clock_mono_us () + IDLE_S * 1000000LL;
    struct session **bucket =
        &self->sessions[(session->sum[0] | (size_t)session->sum[1] << 8) % BUCKETS];
    session->next = *bucket;
    *bucket = session;
    self->session_count++;
    return true;
}

void users_sign_out (struct exchange *self)
{
    struct session *session =
        self->server->users ? find_session (self->server->users, self->token) : NULL;
    if (session)
        session->end_us = 0; // no longer valid; the next sweep frees it
}
