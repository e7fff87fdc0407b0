// HTTP requests by libcurl in the reactor, also several to one host. A transfer connects
// only to addresses that the rules allow, follows no redirect, uses no proxy or other protocol,
// and reads a bounded answer.
#pragma once

#include "address_rules.h"
#include "callback.h"
#include "outcome.h"
#include "reactor.h"
#include "resolver.h"

enum {
    TRANSFERS_HOST_MAX = 8, // concurrent transfers to one host, each on its own connection
    TRANSFER_ANSWER_MAX = 4096,
    TRANSFER_HEADERS_MAX = 16384
};

struct transfers;
struct transfer;

// NULL: libcurl cannot be started. `rules` and `ca_file` ("": the system's) are borrowed.
struct transfers *transfers_new (struct reactor *reactor, const struct address_rules *rules,
                                 const char *ca_file);

// Destroy it and set the pointer to NULL; no transfer may be in progress.
void transfers_destroy (struct transfers **self);

struct transfer_request {
    const char *url, *host; // as callback_url_read wrote them; borrowed for the call
    int port;
    bool is_put;
    const char (*lines)[CALLBACK_LINE_SIZE]; // headers
    size_t line_count;
    struct span body;                          // valid until the transfer has ended
    const struct resolved_addresses *resolved; // allowed addresses; NULL: the host is an address
    int64_t timeout_ms;
};

// Called when a transfer has ended: `masked_secrets` and `masked_url` of `attempt` are not set.
// `listed`: only the settings allow its address. The transfer is freed afterwards.
typedef void transfer_fn (void *owner, const struct attempt *attempt, bool listed);

// Start a transfer. `call` is called once, in a later turn of the reactor, unless the transfer is
// ended before. NULL: out of memory.
struct transfer *transfer_start (struct transfers *transfers,
                                 const struct transfer_request *request, transfer_fn *call,
                                 void *owner);

// Cancel a transfer; `call` is not called.
void transfer_end (struct transfer **self);
