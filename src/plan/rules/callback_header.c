#include "callback_header.h"

#include <stdbool.h>
#include <strings.h>

static const char *const reserved[] = {
    "Host",   "Connection",    "Keep-Alive", "Upgrade", "TE",        "Trailer", "Transfer-Encoding",
    "Expect", "Authorization", "Cookie",     "Via",     "Forwarded", "Origin",  "Referer"};

static const char *const reserved_beginnings[] = {"Content-", "Proxy-", "Sec-",   "X-Forwarded-",
                                                  "X-Real-",  "X-Sdk-", "X-Aws-", "Metadata",
                                                  "webhook-", "zplan-"};

static bool is_token_name (struct span name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i], low = byte | 0x20;
        if (!(low >= 'a' && low <= 'z') && !(byte >= '0' && byte <= '9') &&
            !(byte && strchr ("!#$%&'*+-.^_`|~", byte)))
            return false;
    }
    return name.size > 0;
}

static bool is_reserved_name (struct span name)
{
    const char *text = (const char *)name.data;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (name.size == strlen (reserved[i]) && strncasecmp (text, reserved[i], name.size) == 0)
            return true;
    for (size_t i = 0; i < sizeof reserved_beginnings / sizeof *reserved_beginnings; i++) {
        size_t size = strlen (reserved_beginnings[i]);
        if (name.size >= size && strncasecmp (text, reserved_beginnings[i], size) == 0)
            return true;
    }
    return false;
}

int callback_header_check (struct span name, struct span value, struct reason *reason)
{
    if (name.size > CALLBACK_HEADER_NAME_MAX || !is_token_name (name))
        return reason_set (reason, "want a name of 1..%d letters, digits and -, got %s",
                           CALLBACK_HEADER_NAME_MAX, quoted (name));
    if (is_reserved_name (name))
        return reason_set (reason, "%s: is not allowed", quoted (name));
    bool printable = value.size <= CALLBACK_HEADER_VALUE_MAX;
    for (size_t i = 0; printable && i < value.size; i++)
        printable = value.data[i] >= 0x20 && value.data[i] <= 0x7e;
    if (!printable)
        return reason_set (reason, "%s: want a value of at most %d printable ASCII characters",
                           quoted (name), CALLBACK_HEADER_VALUE_MAX);
    return 0;
}
