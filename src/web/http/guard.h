// The first checks of a request. The HTTP library is more tolerant than is safe behind proxies;
// requests that it accepts are checked here. Pure.
#pragma once

#include "reason.h"

enum {
    GUARD_HEADERS_MAX = 64,
    GUARD_HEAD_MAX = 8192, // bytes of all names and values
    GUARD_BODY_MAX = 1 << 20,
    GUARD_SESSION_MAX = 4096, // limit for the body of a sign-in, sent without a token
    GUARD_IMPORT_MAX = 64 << 20
};

struct guard_header {
    struct span name, value;
};

struct guard_head {
    const char *method, *version;
    struct guard_header headers[GUARD_HEADERS_MAX];
    size_t count; // above GUARD_HEADERS_MAX: further headers are missing
};

// Check the head of a request. 0, or the HTTP status to reject the request with, and a reason. The
// connection must then be closed, since the start of its next request is unknown.
int guard_check (const struct guard_head *head, struct reason *reason);

// Whether a header has this name, ignoring case.
bool guard_name_is (struct span name, const char *text);

// The value of the first header with this name; NULL data: there is none.
struct span guard_value (const struct guard_head *head, const char *name);

// The value of Content-Length of a head that was checked; 0 without one.
int64_t guard_length (const struct guard_head *head);

// Whether HOST or HOST:PORT is this program: `localhost`, an IP literal, or one of `names`, which
// has commas between them. This blocks DNS rebinding: a foreign page can only reach this machine
// under a name of its own.
bool guard_host_is_ours (struct span host, const char *names);

// Whether a browser sent the request for a page of another origin. False also if no header shows an
// origin. `unsafe`: the method changes something. `scheme` is that of the request, "http" or
// "https"; NULL: it is not known.
bool guard_is_foreign (const struct guard_head *head, bool unsafe, const char *scheme);

// Whether the value of Content-Type is this media type; parameters may follow it.
bool guard_media_is (struct span value, const char *type);

// Whether an If-None-Match contains this ETag, or is `*`, by the weak comparison of RFC 9110, as
// proxies that compress make ETags weak.
bool guard_has_etag (const char *list, const char *etag);
