// Signatures of callbacks: `aksk`, the scheme of Huawei Cloud's gateways (SDK-HMAC-SHA256), and
// Standard Webhooks 1.0.
#pragma once

#include "span.h"

enum {
    SIGNATURE_SIZE = 65, // hex, and the NUL
    SIGNATURE_HEADERS_MAX = 8,
    STANDARD_SIGNATURE_SIZE = 48, // "v1,", base64, and the NUL
    STANDARD_KEY_MIN = 24,
    STANDARD_KEY_MAX = 64
};

struct signed_header {
    const char *name; // in lower case
    const char *value;
};

struct signed_request {
    const char *method;
    struct span path;                                    // begins with '/'
    struct span query;                                   // without the '?'
    struct signed_header headers[SIGNATURE_HEADERS_MAX]; // sorted by name; one is x-sdk-date
    size_t header_count;
    struct span body;
};

// The canonical request: method, path, query, headers and the hash of the body. The caller frees
// it.
char *signature_canonical (const struct signed_request *self);

// Write the names of the signed headers to `out`: "NAME;NAME". Returns `out`.
const char *signature_names (const struct signed_request *self, char *out, size_t size);

// Write the signature, in hex, of the request at this date (the value of x-sdk-date) with the
// secret key `sk`.
void signature_aksk (const struct signed_request *self, const char *date, struct span sk,
                     char ret[SIGNATURE_SIZE]);

// Write the signature "v1,BASE64" of the text "ID.TIMESTAMP.BODY".
void signature_standard (struct span key, const char *id, int64_t timestamp, struct span body,
                         char ret[STANDARD_SIGNATURE_SIZE]);
