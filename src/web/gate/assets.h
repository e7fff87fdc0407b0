// The pages, embedded in the program.
#pragma once

#include "exchange.h"

struct asset {
    const char *name, *type, *etag;
    const unsigned char *bytes, *gzip; // gzip: NULL where it is not smaller
    size_t size, gzip_size;
};

extern const struct asset assets[];
extern const size_t asset_count;
extern const char asset_version[]; // a hash of all contents

// The file at `/`, `/help/...`, `/assets/VERSION/NAME` or `/assets/NAME`; NULL: there is no such
// file.
const struct asset *assets_find (const struct request_target *target);

// Whether the method is GET or HEAD. The allowed methods are stored in `ret` in both cases.
bool assets_allow (const char *method, struct routed *ret);

void assets_answer (struct exchange *self);
