#include "assets.h"

#include <microhttpd.h>

#include "guard.h"

// Pages may only load from this server.
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

// Whether the target is /assets/VERSION/NAME with our version, whose contents never change.
static bool is_versioned (const struct request_target *target)
{
    return target->segment_count == 3 && strcmp (target->segments[0], "assets") == 0 &&
           strcmp (target->segments[1], asset_version) == 0;
}

const struct asset *assets_find (const struct request_target *target)
{
    const char *name = NULL;
    if (target->segment_count == 0)
        name = "index.html";
    else if (target->segment_count == 2 && strcmp (target->segments[0], "help") == 0)
        name = "help.html"; // the `type` of a problem links to it
    else if (target->segment_count == 2 && strcmp (target->segments[0], "assets") == 0)
        name = target->segments[1];
    else if (is_versioned (target))
        name = target->segments[2];
    for (size_t i = 0; name && i < asset_count; i++)
        if (strcmp (assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

bool assets_allow (const char *method, struct routed *ret)
{
    memcpy (ret->allow, "GET, HEAD", sizeof "GET, HEAD");
    return strcmp (method, "GET") == 0 || strcmp (method, "HEAD") == 0;
}

void assets_answer (struct exchange *self)
{
    const struct asset *asset = assets_find (&self->target);
    const char *known = exchange_request_header (self, "If-None-Match");
    const char *takes = exchange_request_header (self, "Accept-Encoding");
    bool gzip = asset->gzip && takes && strstr (takes, "gzip");
    exchange_add_header (self, "ETag", asset->etag);
    exchange_add_header (self, "Cache-Control",
                         is_versioned (&self->target) ? "public, max-age=31536000, immutable"
                                                      : "no-cache"); // revalidate each time
    exchange_add_header (self, "Vary", "Accept-Encoding");
    exchange_add_header (self, "Content-Security-Policy", policy);
    if (known && guard_has_etag (known, asset->etag)) {
        exchange_answer_empty (self, 304);
        return;
    }
    exchange_add_header (self, "Content-Type", asset->type);
    if (gzip)
        exchange_add_header (self, "Content-Encoding", "gzip");
    const unsigned char *bytes = gzip ? asset->gzip : asset->bytes;
    exchange_response (self, 200,
                       MHD_create_response_from_buffer (gzip ? asset->gzip_size : asset->size,
                                                        (void *)(uintptr_t)bytes,
                                                        MHD_RESPMEM_PERSISTENT));
}
