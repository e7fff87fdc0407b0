// One HTTP request and its answer. It is checked when its header has arrived, its body is read, and
// it is dispatched to its resource, which answers at once or when the station has answered; until
// then the exchange is suspended.
#pragma once

#include "gateway.h"
#include "routes.h"

enum { EXCHANGE_KEPT_MAX = 8, EXCHANGE_HEADERS_MAX = 8 };

struct exchange;
struct server;
struct http_connection;
struct key;
struct MHD_Connection;
struct MHD_Response;

typedef void exchange_fn (struct exchange *self, const struct station_answer *answer);

struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    struct http_connection *peer;
    char address[48];   // the client's: the peer's address, or the one that a proxy reports
    const char *scheme; // "http" or "https"; NULL: not known
    char *raw;          // the target as it was sent
    struct request_target target;
    struct routed routed;
    struct gateway *gateway;
    const char *user;  // name; NULL: users are off, or the route is public
    char name[65];     // storage of `user`
    struct key *key;   // key of the user; NULL: none
    uint8_t token[32]; // hash of the token or session that the request has
    char secret[48];   // text of a new session; empty: none
    bool audited;      // the audit line before the change was written; the one after it must follow
    uint8_t *body;
    size_t body_size, body_max;
    json_t *json; // the body; NULL: there is none
    enum { EXCHANGE_NEW, EXCHANGE_READING, EXCHANGE_ASKING, EXCHANGE_ANSWERED } state;
    bool suspended;
    struct exchange *next; // next of the exchanges that wait for one answer
    struct MHD_Response *response;
    unsigned status;
    int64_t begun_us;
    struct {
        const char *name;
        char *value;                 // owned
    } headers[EXCHANGE_HEADERS_MAX]; // headers of the answer
    size_t header_count;
    exchange_fn *fn;     // called with the answer to the question, if it succeeded
    exchange_fn *failed; // set before a question: called if it failed; NULL: exchange_fail
    void *kept[EXCHANGE_KEPT_MAX]; // blocks of its resource, freed with free () at the end
    size_t kept_count;
    void (*on_permitted) (struct exchange *self); // called if the user may observe all targets
    void *own;                                    // state of the resource, which `clear` releases
    void (*clear) (struct exchange *self);
    char id[17];    // id of the plan that is submitted; empty: none
    json_t *errors; // `errors` of the problem that is answered; NULL: at most one error
};

// ---- the answer. Exactly one of these is called for each exchange.

// Answer with JSON, whose reference is taken.
void exchange_answer_json (struct exchange *self, unsigned status, json_t *json);
void exchange_answer_empty (struct exchange *self, unsigned status);

// Answer with `bytes`, which are taken and freed; `type` is the media type.
void exchange_answer_bytes (struct exchange *self, unsigned status, const char *type, char *bytes,
                            size_t size);

// Write the audit line before a change; the one after it follows with the answer. False: it cannot
// be written, and an error was answered.
bool exchange_audit (struct exchange *self);

// Answer with a response object of libmicrohttpd, which is taken and may have its own headers.
void exchange_response (struct exchange *self, unsigned status, struct MHD_Response *response);

// Answer an error as a problem document (RFC 9457).
void exchange_problem (struct exchange *self, unsigned status, const char *code, const char *format,
                       ...) __attribute__ ((format (printf, 4, 5)));

// Answer the error of a command that the station rejected or did not answer.
void exchange_fail (struct exchange *self, const struct station_answer *answer);

// ---- before the answer

// Add a header to the answer; call it before one of the functions above. `name` is borrowed.
void exchange_add_header (struct exchange *self, const char *name, const char *value);

// The value of a header of the request; NULL: no such header.
const char *exchange_request_header (const struct exchange *self, const char *name);

// Keep a block until the exchange ends, then free it. Returns the block.
void *exchange_own_block (struct exchange *self, void *block);

// Send the route's command to the station, with the arguments up to the first NULL; these strings
// must stay valid. `fn` is called with the answer if the command succeeded, else `self->failed`.
void exchange_ask (struct exchange *self, exchange_fn *fn, ...) __attribute__ ((sentinel));

// As exchange_ask, for any question.
void exchange_question (struct exchange *self, const struct question *question, exchange_fn *fn);

// Whether the role observe is among the roles in an answer to whoami.
bool exchange_observes (const json_t *answer);

// ---- while there is nothing to send

// While suspended, the library reads no more of the answer. Resuming twice is harmless.
void exchange_suspend (struct exchange *self);
void exchange_resume (struct exchange *self);

// ---- used by the server and the API

struct exchange *exchange_new (struct server *server, struct MHD_Connection *connection,
                               const char *target);
void exchange_destroy (struct exchange **self);

// Handle one call of the library's handler. 0, or -1: close the connection.
int exchange_handle (struct exchange *self, const char *method, const char *version,
                     const char *data, size_t *size);

// ---- exchange_check.c

// Check method, target, user and the headers of the body before it is read. True: the request was
// answered, mostly with a rejection. False: its route, if it has one, its user and the limit of its
// body are set.
bool exchange_check_header (struct exchange *self, const char *method, const char *version);
