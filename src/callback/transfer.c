#include "transfer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>

#include "clock.h"
#include "memory.h"
#include "retry_after.h"

enum {
    CONNECTION_LIFE_S = 60, // a new connection, whose address is checked, then replaces it
    INTERIM_MAX = 5         // answers of 1xx
};

struct transfers {
    struct reactor *reactor;
    const struct address_rules *rules;
    const char *ca_file;
    CURLM *multi;
    struct timer timer;
};

struct transfer {
    struct transfers *all;
    CURL *easy;
    struct curl_slist *lines, *addresses;
    transfer_fn *call;
    void *owner;
    enum { FAULT_NONE, FAULT_ADDRESS, FAULT_HEADERS, FAULT_INTERIM, FAULT_ANSWER } fault;
    bool textual; // the answer can be shown
    int interim;
    int64_t retry_after_s;
    size_t header_bytes, answer_size;
    char answer[TRANSFER_ANSWER_MAX];
};

// -- the address

static curl_socket_t open_allowed_socket (void *owner, curlsocktype purpose,
                                          struct curl_sockaddr *at)
{
    struct transfer *self = owner;
    uint8_t address[IP_SIZE];
    (void)purpose;
    self->fault = FAULT_ADDRESS;
    if (at->socktype != SOCK_STREAM || !ip_of_socket (&at->addr, address))
        return CURL_SOCKET_BAD;
    if (address_check (self->all->rules, address) == ADDRESS_DENIED)
        return CURL_SOCKET_BAD;
    self->fault = FAULT_NONE;
    return socket (at->family, at->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->protocol);
}

// -- the answer

static bool read_header_value (struct span line, const char *name, struct span *ret)
{
    size_t size = strlen (name);
    if (line.size <= size || line.data[size] != ':' ||
        strncasecmp ((const char *)line.data, name, size) != 0)
        return false;
    struct span value = span_of (line.data + size + 1, line.size - size - 1);
    *ret = span_trimmed (span_take_line (&value));
    return true;
}

static bool has_prefix_nocase (struct span text, const char *with)
{
    size_t size = strlen (with);
    return text.size >= size && strncasecmp ((const char *)text.data, with, size) == 0;
}

static size_t on_header (char *data, size_t unit, size_t count, void *owner)
{
    struct transfer *self = owner;
    struct span line = span_of (data, unit * count), value;
    self->header_bytes += line.size;
    if (self->header_bytes > TRANSFER_HEADERS_MAX) {
        self->fault = FAULT_HEADERS;
        return 0;
    }
    if (has_prefix_nocase (line, "HTTP/1.1 1") && ++self->interim > INTERIM_MAX) {
        self->fault = FAULT_INTERIM;
        return 0;
    }
    if (read_header_value (line, "Retry-After", &value))
        self->retry_after_s = retry_after (value, clock_wall_us () / 1000000);
    else if (read_header_value (line, "Content-Type", &value))
        self->textual = has_prefix_nocase (value, "text/") ||
                        has_prefix_nocase (value, "application/json") ||
                        has_prefix_nocase (value, "application/problem+json");
    return line.size;
}

// Stop reading a body that is too long: the status is known.
static size_t on_body (char *data, size_t unit, size_t count, void *owner)
{
    struct transfer *self = owner;
    size_t size = unit * count, room = sizeof self->answer - self->answer_size;
    size_t kept = size < room ? size : room;
    memcpy (self->answer + self->answer_size, data, kept);
    self->answer_size += kept;
    if (kept == size)
        return size;
    self->fault = FAULT_ANSWER;
    return 0;
}

static const char *transfer_fault_text (const struct transfer *self, CURLcode code)
{
    static const struct {
        CURLcode code;
        const char *text;
    } rows[] = {
        {CURLE_COULDNT_RESOLVE_HOST, "the host's name is not known"},
        {CURLE_COULDNT_CONNECT, "cannot connect"},
        {CURLE_OPERATION_TIMEDOUT, "timed out"},
        {CURLE_SSL_CONNECT_ERROR, "TLS: no connection"},
        {CURLE_PEER_FAILED_VERIFICATION, "TLS: the certificate is not valid for this host"},
        {CURLE_GOT_NOTHING, "the connection was closed without an answer"},
        {CURLE_RECV_ERROR, "the connection was lost"},
        {CURLE_SEND_ERROR, "the connection was lost"},
        {CURLE_PARTIAL_FILE, "the answer was cut"},
        {CURLE_WEIRD_SERVER_REPLY, "the answer is no HTTP"},
        {CURLE_UNSUPPORTED_PROTOCOL, "the answer is no HTTP"},
    };
    if (self->fault == FAULT_HEADERS)
        return "the answer's headers are too large";
    if (self->fault == FAULT_INTERIM)
        return "too many interim answers";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code)
            return rows[i].text;
    return curl_easy_strerror (code);
}

// -- one transfer

static void set_resolved_addresses (struct transfer *self, const struct transfer_request *request)
{
    char line[CALLBACK_HOST_SIZE + 16 + RESOLVED_MAX * (IP_TEXT_SIZE + 3)], text[IP_TEXT_SIZE];
    // "+": the entry expires like a lookup of libcurl itself.
    size_t used = (size_t)snprintf (line, sizeof line, "+%s:%d:", request->host, request->port);
    for (size_t i = 0; i < request->resolved->count; i++) {
        ip_text (request->resolved->addresses[i], text);
        const char *form = strchr (text, ':') ? "[" : "";
        used += (size_t)snprintf (line + used, sizeof line - used, "%s%s%s%s", i ? "," : "", form,
                                  text, *form ? "]" : "");
    }
    self->addresses = curl_slist_append (NULL, line);
    curl_easy_setopt (self->easy, CURLOPT_RESOLVE, self->addresses);
}

static void set_transfer_options (struct transfer *self, const struct transfer_request *request)
{
    CURL *easy = self->easy;
    curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt (easy, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt (easy, CURLOPT_PROXY, "");
    curl_easy_setopt (easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt (easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt (easy, CURLOPT_DNS_CACHE_TIMEOUT, 30L);
    curl_easy_setopt (easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_LIFE_S);
    curl_easy_setopt (easy, CURLOPT_MAXAGE_CONN, (long)CONNECTION_LIFE_S);
    curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt (easy, CURLOPT_OPENSOCKETFUNCTION, open_allowed_socket);
    curl_easy_setopt (easy, CURLOPT_OPENSOCKETDATA, self);
    if (self->all->ca_file[0])
        curl_easy_setopt (easy, CURLOPT_CAINFO, self->all->ca_file);
}

struct transfer *transfer_start (struct transfers *transfers,
                                 const struct transfer_request *request, transfer_fn *call,
                                 void *owner)
{
    struct transfer *self = memory_new (sizeof *self);
    *self = (struct transfer){.all = transfers, .call = call, .owner = owner};
    CURL *easy = self->easy = curl_easy_init ();
    if (!easy) {
        transfer_end (&self);
        return NULL;
    }
    for (size_t i = 0; i < request->line_count; i++)
        self->lines = curl_slist_append (self->lines, request->lines[i]);
    self->lines = curl_slist_append (self->lines, "Expect:");
    self->lines = curl_slist_append (self->lines, "Accept:");
    set_transfer_options (self, request);
    if (request->resolved)
        set_resolved_addresses (self, request);
    curl_easy_setopt (easy, CURLOPT_URL, request->url);
    curl_easy_setopt (easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt (easy, CURLOPT_USERAGENT, "zplan-callback/" ZPLAN_VERSION);
    curl_easy_setopt (easy, CURLOPT_HTTPHEADER, self->lines);
    curl_easy_setopt (easy, CURLOPT_POST, 1L);
    curl_easy_setopt (easy, CURLOPT_POSTFIELDS, request->body.data);
    curl_easy_setopt (easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    if (request->is_put)
        curl_easy_setopt (easy, CURLOPT_CUSTOMREQUEST, "PUT");
    curl_easy_setopt (easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt (easy, CURLOPT_HEADERDATA, self);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, self);
    curl_easy_setopt (easy, CURLOPT_PRIVATE, self);
    if (curl_multi_add_handle (transfers->multi, easy))
        transfer_end (&self);
    return self;
}

void transfer_end (struct transfer **self_p)
{
    struct transfer *self = *self_p;
    if (!self)
        return;
    if (self->easy)
        curl_multi_remove_handle (self->all->multi, self->easy);
    curl_easy_cleanup (self->easy);
    curl_slist_free_all (self->lines);
    curl_slist_free_all (self->addresses);
    free (self);
    *self_p = NULL;
}

// Whether only the settings allow the address of the connection, or it is not known; the connection
// may be a reused one.
static bool is_address_listed (const struct transfer *self)
{
    char *text = NULL;
    uint8_t address[16];
    curl_easy_getinfo (self->easy, CURLINFO_PRIMARY_IP, &text);
    return !text || !ip_read (span_text (text), address) ||
           address_check (self->all->rules, address) != ADDRESS_PUBLIC;
}

static void finish_transfer (struct transfer *self, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo (self->easy, CURLINFO_RESPONSE_CODE, &status);
    struct attempt attempt = {.retry_after_s = self->retry_after_s};
    // libcurl closes the connection of an answer that was not read to its end.
    if (code == CURLE_OK || self->fault == FAULT_ANSWER)
        attempt.status = (int)status;
    attempt.denied = !attempt.status && self->fault == FAULT_ADDRESS;
    if (!attempt.status && !attempt.denied)
        attempt.fault = transfer_fault_text (self, code);
    if (self->textual)
        attempt.answer = span_of (self->answer, self->answer_size);
    // The callback reads the answer in this memory, and may start other transfers.
    self->call (self->owner, &attempt, is_address_listed (self));
    transfer_end (&self);
}

// -- libcurl in the reactor

struct socket_watch {
    struct source source;
    struct transfers *all;
};

static void finish_ended_transfers (struct transfers *self)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read (self->multi, &left));) {
        char *private = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        curl_easy_getinfo (message->easy_handle, CURLINFO_PRIVATE, &private);
        finish_transfer ((struct transfer *)(void *)private, code);
    }
}

static void on_ready (void *owner, uint32_t events)
{
    struct socket_watch *watch = owner;
    struct transfers *all = watch->all; // `watch` may be freed by the call
    int running, bits = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                        (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                        (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action (all->multi, watch->source.fd, bits, &running);
    finish_ended_transfers (all);
}

static int on_socket (CURL *easy, curl_socket_t fd, int what, void *owner, void *assigned)
{
    struct transfers *self = owner;
    struct socket_watch *watch = assigned;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            source_end (&watch->source);
        free (watch);
        curl_multi_assign (self->multi, fd, NULL);
        return 0;
    }
    if (!watch) {
        watch = memory_new (sizeof *watch);
        watch->all = self;
        watch->source = (struct source){.call = on_ready, .owner = watch};
        curl_multi_assign (self->multi, fd, watch);
    }
    source_set (&watch->source, self->reactor, fd,
                (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u));
    return 0;
}

static void on_timer (void *owner)
{
    struct transfers *self = owner;
    int running;
    curl_multi_socket_action (self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    finish_ended_transfers (self);
}

static int set_timer (CURLM *multi, long ms, void *owner)
{
    struct transfers *self = owner;
    (void)multi;
    if (ms < 0)
        timer_end (&self->timer);
    else
        timer_set (&self->timer, self->reactor, ms);
    return 0;
}

struct transfers *transfers_new (struct reactor *reactor, const struct address_rules *rules,
                                 const char *ca_file)
{
    if (curl_global_init (CURL_GLOBAL_DEFAULT))
        return NULL;
    struct transfers *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->rules = rules;
    self->ca_file = ca_file;
    self->timer = (struct timer){.call = on_timer, .owner = self};
    self->multi = curl_multi_init ();
    if (!self->multi) {
        free (self);
        return NULL;
    }
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt (self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt (self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt (self->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)TRANSFERS_HOST_MAX);
    curl_multi_setopt (self->multi, CURLMOPT_MAXCONNECTS, (long)CALLBACKS_MAX);
    return self;
}

void transfers_destroy (struct transfers **self_p)
{
    struct transfers *self = *self_p;
    if (!self)
        return;
    curl_multi_cleanup (self->multi);
    timer_end (&self->timer);
    curl_global_cleanup ();
    free (self);
    *self_p = NULL;
}
