#include "callback_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "percent.h"

enum { LABEL_MAX = 63, PORT_MAX = 65535 };

// -- characters

static bool is_letter (uint8_t byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

// Whether a path or a query may contain the byte unescaped; a query may also contain '?'.
static bool is_path_byte (uint8_t byte)
{
    return is_letter (byte) || isdigit (byte) || (byte && strchr ("-._~!$&'()*+,;=:@/", byte));
}

// -- the host

// Whether the host is a name: labels of letters, digits and '-'. The last one begins with a letter,
// as a resolver would take "0x7f.1" and "2130706433" for addresses.
static bool is_host_name (struct span host)
{
    size_t label = 0; // offset of the label that is checked
    for (size_t i = 0; i <= host.size; i++) {
        if (i < host.size && host.data[i] != '.') {
            if (!is_letter (host.data[i]) && !isdigit (host.data[i]) && host.data[i] != '-')
                return false;
            continue;
        }
        size_t size = i - label;
        if (size < 1 || size > LABEL_MAX || host.data[label] == '-' || host.data[i - 1] == '-')
            return false;
        if (i == host.size)
            return is_letter (host.data[label]);
        label = i + 1;
    }
    return false;
}

// Read an IP address, and keep its canonical spelling. inet_pton rejects unusual spellings, such as
// octal numbers. False: the host is no address.
static bool read_ip_address (struct span host, int family, struct callback_url *ret)
{
    char text[INET6_ADDRSTRLEN];
    uint8_t address[16];
    if (host.size >= sizeof text)
        return false;
    memcpy (text, host.data, host.size);
    text[host.size] = '\0';
    if (inet_pton (family, text, address) != 1)
        return false;
    inet_ntop (family, address, ret->host, sizeof ret->host);
    return ret->literal = true;
}

static int read_host (struct span host, bool bracketed, struct callback_url *ret,
                      struct reason *reason)
{
    ret->literal = false;
    if (bracketed ? read_ip_address (host, AF_INET6, ret) : read_ip_address (host, AF_INET, ret))
        return 0;
    if (bracketed || host.size >= sizeof ret->host || !is_host_name (host))
        return reason_set (reason,
                           "host: want a name of letters, digits and '-', or an IP address, got %s",
                           quoted (host));
    for (size_t i = 0; i < host.size; i++)
        ret->host[i] = (char)(is_letter (host.data[i]) ? host.data[i] | 0x20 : host.data[i]);
    ret->host[host.size] = '\0';
    return 0;
}

static int read_port (struct span text, struct callback_url *ret, struct reason *reason)
{
    int port = 0;
    bool valid = text.size > 0 && text.size <= 5 && text.data[0] != '0';
    for (size_t i = 0; valid && i < text.size; i++) {
        valid = isdigit (text.data[i]);
        port = port * 10 + (text.data[i] - '0');
    }
    if (!valid || port > PORT_MAX)
        return reason_set (reason, "port: want 1..65535, got %s", quoted (text));
    ret->port = port;
    return 0;
}

// Read HOST, HOST:PORT, [HOST] or [HOST]:PORT.
static int read_authority (struct span text, struct callback_url *ret, struct reason *reason)
{
    bool bracketed = text.size && text.data[0] == '[';
    const uint8_t *end = text.size ? memchr (text.data, bracketed ? ']' : ':', text.size) : NULL;
    size_t host = end ? (size_t)(end - text.data) : text.size;
    size_t next = bracketed && end ? host + 1 : host;
    if (bracketed && !end)
        return reason_set (reason, "host: ']' is missing");
    if (memchr (text.data, '@', text.size))
        return reason_set (reason, "host: a user or password is not allowed before it");
    if (read_host (span_of (text.data + bracketed, host - bracketed), bracketed, ret, reason))
        return -1;
    if (next == text.size)
        return 0;
    if (text.data[next] != ':')
        return reason_set (reason, "host: want ':' or '/' after it, got %s", quoted (text));
    return read_port (span_of (text.data + next + 1, text.size - next - 1), ret, reason);
}

// -- path and query

// Whether the segment is "." or "..", where a dot may be written as "%2e".
static bool is_dot_segment (struct span segment)
{
    size_t dots = 0, i = 0;
    while (i < segment.size) {
        bool coded = segment.size - i >= 3 && segment.data[i] == '%' &&
                     segment.data[i + 1] == '2' && (segment.data[i + 2] | 0x20) == 'e';
        if (!coded && segment.data[i] != '.')
            return false;
        i += coded ? 3 : 1;
        dots++;
    }
    return dots == 1 || dots == 2;
}

// Check path and query. `ret_path`: the size of the path.
static int check_path (struct span text, size_t *ret_path, struct reason *reason)
{
    size_t path = text.size, segment = 1;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        bool in_path = path == text.size;
        bool coded = percent_byte (span_of (text.data + i, text.size - i)) >= 0;
        if (byte == '#')
            return reason_set (reason, "a fragment (#) is not allowed");
        if (!coded && !is_path_byte (byte) && byte != '?')
            return reason_set (reason, "path: %s is not allowed; write it as %%HH",
                               quoted (span_of (&byte, 1)));
        if (in_path && byte == '?')
            path = i;
    }
    for (size_t i = 1; i <= path; i++) {
        if (i < path && text.data[i] != '/')
            continue;
        if (is_dot_segment (span_of (text.data + segment, i - segment)))
            return reason_set (reason, "path: '.' and '..' are not allowed as segments");
        segment = i + 1;
    }
    *ret_path = path;
    return 0;
}

// -- the whole URL

// Whether the text begins with the prefix, ignoring case.
static bool begins_ignoring_case (struct span text, const char *prefix)
{
    size_t size = strlen (prefix);
    return text.size >= size && strncasecmp ((const char *)text.data, prefix, size) == 0;
}

int callback_url_read (struct span text, struct callback_url *ret, struct reason *reason)
{
    struct callback_url url = {.https = begins_ignoring_case (text, "https://")};
    size_t at = url.https ? 8 : 7, end;
    if (text.size > CALLBACK_URL_MAX)
        return reason_set (reason, "want at most %d bytes, got %zu", CALLBACK_URL_MAX, text.size);
    if (!url.https && !begins_ignoring_case (text, "http://"))
        return reason_set (reason, "want https://HOST/PATH");
    for (end = at; end < text.size && !strchr ("/?#", text.data[end]); end++) {
    }
    url.port = url.https ? 443 : 80;
    int default_port = url.port;
    if (read_authority (span_of (text.data + at, end - at), &url, reason))
        return -1;
    struct span rest = span_of (text.data + end, text.size - end);
    bool slash = rest.size == 0 || rest.data[0] == '?'; // the URL has no path
    if (check_path (rest, &url.path_size, reason))
        return -1;
    url.path_size += slash;
    bool bracketed = strchr (url.host, ':');
    int size = snprintf (url.text, sizeof url.text, "http%s://%s%s%s", url.https ? "s" : "",
                         bracketed ? "[" : "", url.host, bracketed ? "]" : "");
    if (url.port != default_port)
        size += snprintf (url.text + size, sizeof url.text - (size_t)size, ":%d", url.port);
    url.origin_size = (size_t)size;
    snprintf (url.text + size, sizeof url.text - (size_t)size, "%s%.*s", slash ? "/" : "",
              (int)rest.size, (const char *)rest.data);
    *ret = url;
    return 0;
}

bool callback_name_valid (struct span name)
{
    return station_name_valid (name) && name.data[0] != '.';
}
