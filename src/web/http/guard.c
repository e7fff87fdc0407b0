#include "guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

bool guard_name_is (struct span name, const char *text)
{
    return name.size == strlen (text) &&
           strncasecmp ((const char *)name.data, text, name.size) == 0;
}

static bool is_header_name (struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte <= 0x20 || byte >= 0x7f || strchr ("\"(),/:;<=>?@[\\]{}", byte))
            return false;
    }
    return text.size > 0;
}

static bool is_header_value (struct span text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((text.data[i] < 0x20 && text.data[i] != '\t') || text.data[i] == 0x7f)
            return false;
    return true;
}

static size_t count_headers (const struct guard_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->count && i < GUARD_HEADERS_MAX; i++)
        count += guard_name_is (head->headers[i].name, name);
    return count;
}

struct span guard_value (const struct guard_head *head, const char *name)
{
    for (size_t i = 0; i < head->count && i < GUARD_HEADERS_MAX; i++)
        if (guard_name_is (head->headers[i].name, name))
            return head->headers[i].value;
    return (struct span){0};
}

// The value of Content-Length; -1: not a number, or too large.
static int64_t parse_length (struct span value)
{
    int64_t length = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || i == 15)
            return -1;
        length = length * 10 + (value.data[i] - '0');
    }
    return value.size ? length : -1;
}

int64_t guard_length (const struct guard_head *head)
{
    int64_t length = parse_length (guard_value (head, "Content-Length"));
    return length > 0 ? length : 0;
}

static bool method_has_no_body (const char *method)
{
    return strcmp (method, "GET") == 0 || strcmp (method, "HEAD") == 0 ||
           strcmp (method, "OPTIONS") == 0;
}

static int set_rejection (int status, struct reason *reason, const char *text)
{
    reason_set (reason, "%s", text);
    return status;
}

int guard_check (const struct guard_head *head, struct reason *reason)
{
    if (head->count > GUARD_HEADERS_MAX)
        return set_rejection (431, reason, "want at most 64 header fields");
    size_t bytes = 0;
    for (size_t i = 0; i < head->count; i++)
        bytes += head->headers[i].name.size + head->headers[i].value.size;
    if (bytes > GUARD_HEAD_MAX)
        return set_rejection (431, reason, "want at most 8192 bytes of header fields");
    // This keeps requests from the library's tolerant parser of chunks.
    if (count_headers (head, "Transfer-Encoding"))
        return set_rejection (411, reason, "want Content-Length: chunked bodies are not supported");
    size_t lengths = count_headers (head, "Content-Length");
    if (lengths > 1 || (lengths && parse_length (guard_value (head, "Content-Length")) < 0))
        return set_rejection (400, reason, "want one Content-Length");
    if (method_has_no_body (head->method) && guard_length (head) > 0)
        return set_rejection (400, reason, "want no body with this method");
    if (count_headers (head, "Host") != 1)
        return set_rejection (400, reason, "want one Host");
    if (strcmp (head->version, "HTTP/1.1") != 0 && strcmp (head->version, "HTTP/1.0") != 0)
        return set_rejection (400, reason, "want HTTP/1.0 or HTTP/1.1");
    for (size_t i = 0; i < head->count; i++)
        if (!is_header_name (head->headers[i].name) || !is_header_value (head->headers[i].value))
            return set_rejection (400, reason, "want header fields of RFC 9110");
    return 0;
}

// Copy the host of HOST or HOST:PORT without the port and without brackets. False: invalid.
static bool parse_host_name (struct span host, char out[256])
{
    const char *text = (const char *)host.data;
    if (host.size == 0 || host.size >= 256)
        return false;
    snprintf (out, 256, "%.*s", (int)host.size, text);
    char *end = strchr (out, ']'), *colon = end ? strchr (end, ':') : strrchr (out, ':');
    if ((out[0] == '[') != (end != NULL))
        return false;
    if (colon && strspn (colon + 1, "0123456789") != strlen (colon + 1))
        return false;
    if (end && end[1] && end + 1 != colon)
        return false;
    if (colon)
        *colon = '\0';
    if (end) {
        *end = '\0';
        memmove (out, out + 1, strlen (out));
    }
    return out[0] != '\0';
}

bool guard_host_is_ours (struct span host, const char *names)
{
    char name[256];
    struct in6_addr address;
    if (!parse_host_name (host, name))
        return false;
    if (strcasecmp (name, "localhost") == 0 || inet_pton (AF_INET, name, &address) == 1 ||
        inet_pton (AF_INET6, name, &address) == 1)
        return true;
    for (const char *at = names; *at; at += strspn (at, ", ")) {
        size_t size = strcspn (at, ", ");
        if (size == strlen (name) && strncasecmp (at, name, size) == 0)
            return true;
        at += size;
    }
    return false;
}

bool guard_is_foreign (const struct guard_head *head, bool unsafe, const char *scheme)
{
    static const char *const schemes[] = {"http", "https"};
    struct span site = guard_value (head, "Sec-Fetch-Site");
    if (span_is (site, "cross-site") || span_is (site, "same-site"))
        return true;
    struct span origin = guard_value (head, "Origin"), host = guard_value (head, "Host");
    if (!unsafe || !origin.data)
        return false;
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen (schemes[i]);
        if (scheme && strcmp (scheme, schemes[i]) != 0)
            continue;
        if (origin.size == size + 3 + host.size && memcmp (origin.data, schemes[i], size) == 0 &&
            memcmp (origin.data + size, "://", 3) == 0 &&
            span_equal (span_of (origin.data + size + 3, host.size), host))
            return false;
    }
    return true;
}

bool guard_media_is (struct span value, const char *type)
{
    size_t size = strlen (type);
    if (value.size < size || strncasecmp ((const char *)value.data, type, size) != 0)
        return false;
    return value.size == size || value.data[size] == ';' || value.data[size] == ' ';
}

bool guard_has_etag (const char *list, const char *etag)
{
    size_t size = strlen (etag);
    for (const char *at = list; *at; at += strcspn (at, ","), at += strspn (at, ", \t")) {
        if (*at == '*')
            return true;
        at += strncmp (at, "W/", 2) == 0 ? 2 : 0;
        if (strncmp (at, etag, size) == 0)
            return true;
    }
    return false;
}
