// The HTTP server: libmicrohttpd in our reactor. Its connections have deadlines of our own, since
// the library's timeouts restart with each received byte.
#pragma once

#include "exchange.h"
#include "table.h"
#include "web_listener.h"
#include "web_settings.h"

struct users;
struct audit;
struct stream;
struct tls;

// An HTTP connection.
struct http_connection {
    struct server *server;
    int fd;
    struct timer deadline;
    char address[48];          // the peer's; "unix" for a socket in the file system
    struct table_node node;    // in `connections`
    struct exchange *exchange; // the exchange in progress; NULL = none
};

enum { ROUTE_CODES_MAX = 12, ROUTE_ELSE = ROUTES, ROUTE_ROWS = ROUTES + 1 };

// The counts of a route; the last row is for requests without one.
struct route_count {
    struct {
        unsigned code;
        uint64_t count;
    } codes[ROUTE_CODES_MAX]; // the last one counts all further codes
    int64_t sum_us;
};

// The metrics, which are written once for all requests that wait for them.
struct scrape {
    char *text; // NULL: none yet
    size_t size;
    int64_t made_us;
    bool asking;
    json_t *health;
    struct exchange *waiting;
};

struct server {
    struct reactor *reactor;
    void (*call) (struct exchange *exchange); // answers or asks the station: api_dispatch
    const struct web_settings *settings;
    struct gateway *gateway; // connection with this program's own key
    struct users *users;     // NULL: there are none
    struct audit *audit;
    struct stream *stream;
    struct tls *tls; // NULL: HTTP without TLS
    struct MHD_Daemon *daemon;
    struct web_listener listener;
    struct source source, accepts; // source: the library's epoll; accepts: the listener
    struct timer timer, pause;     // pause: until accepting is retried
    struct table connections;      // by address
    struct task task;
    unsigned idle_turns;       // turns of the library since the last event
    bool ending;               // no more questions are sent to the station
    struct exchange *importer; // the only import in progress, from its header on; NULL: none
    struct route_count counts[ROUTE_ROWS];
    struct scrape scrape;
    struct series *series;     // the station's numbers of the last 24 hours
    struct timer series_timer; // the next read of the numbers
    struct bulk_job *bulk;     // the last job
    struct key_memory *keys;   // NULL: no Idempotency-Key was used
};

// Create the server, bind and listen. The settings are borrowed, the gateway is owned from then on.
// NULL with a reason; `ret_unusable`: files or folders that the settings name cannot be used.
struct server *server_new (struct reactor *reactor, const struct web_settings *settings,
                           struct gateway *gateway, bool *ret_unusable, struct reason *reason);
void server_destroy (struct server **self);

// Close the connection in `ms` milliseconds, unless its deadline is set again before.
void peer_set_deadline (struct http_connection *self, int64_t ms);

// Whether the peer has closed the connection. The library does not check while a connection is
// suspended.
bool peer_has_left (const struct http_connection *self);

// Run the library soon. Called when a connection was resumed, since the library's descriptor does
// not signal it.
void server_wake (struct server *self);

void server_count_request (struct server *self, const struct exchange *exchange);
