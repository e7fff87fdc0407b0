// Base64 (RFC 4648, with padding), for frames that are not text.
#pragma once

#include "span.h"

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1) // with the NUL

// Encode with a NUL at the end; `out` has BASE64_SIZE bytes.
void base64_encode (struct span bytes, char *out);

// Decode; `out` has room for text.size / 4 * 3 bytes. False: not base64.
bool base64_decode (struct span text, uint8_t *out, size_t *ret_size);
