#include "forwarded.h"

#include <stdio.h>

// Cut off and return the part after the last comma.
static struct span cut_last_entry (struct span *text)
{
    size_t at = text->size;
    while (at && text->data[at - 1] != ',')
        at--;
    struct span last = span_of (text->data + at, text->size - at);
    text->size = at ? at - 1 : 0;
    return span_trimmed (last);
}

// -- the proxies

int forwarded_check (const char *proxies, struct reason *reason)
{
    struct span rest = span_text (proxies);
    struct network ignored;
    while (rest.size) {
        struct span text = cut_last_entry (&rest);
        if (!network_parse (text, &ignored))
            return reason_set (reason, "want addresses and ADDRESS/BITS with commas, got %s",
                               quoted (text));
    }
    return 0;
}

static bool is_in_proxy_list (const char *proxies, const uint8_t address[IP_SIZE])
{
    struct span rest = span_text (proxies);
    struct network range;
    while (rest.size)
        if (network_parse (cut_last_entry (&rest), &range) && network_has (&range, address))
            return true;
    return false;
}

bool forwarded_is_proxy (const char *proxies, const char *address)
{
    uint8_t read[IP_SIZE];
    return ip_read (span_text (address), read) && is_in_proxy_list (proxies, read);
}

// -- the headers

// Parse ADDRESS, ADDRESS:PORT, [ADDRESS] or [ADDRESS]:PORT. False: invalid.
static bool parse_forwarded_entry (struct span text, uint8_t ret[IP_SIZE])
{
    const uint8_t *end;
    if (text.size && text.data[0] == '[') {
        end = memchr (text.data, ']', text.size);
        return end && ip_read (span_of (text.data + 1, (size_t)(end - text.data) - 1), ret);
    }
    if (!text.size)
        return false;
    if (ip_read (text, ret))
        return true;
    end = memchr (text.data, ':', text.size);
    return end && memchr (text.data, '.', text.size) &&
           ip_read (span_of (text.data, (size_t)(end - text.data)), ret);
}

void forwarded_address (const struct guard_head *head, const char *proxies, const char *peer,
                        char out[FORWARDED_SIZE])
{
    uint8_t address[IP_SIZE];
    snprintf (out, FORWARDED_SIZE, "%s", peer);
    size_t count = head->count < GUARD_HEADERS_MAX ? head->count : GUARD_HEADERS_MAX;
    for (size_t i = count; i-- > 0;) {
        struct span rest = head->headers[i].value;
        if (!guard_name_is (head->headers[i].name, "X-Forwarded-For"))
            continue;
        while (rest.size) {
            if (!parse_forwarded_entry (cut_last_entry (&rest), address))
                return;
            ip_text (address, out);
            if (!is_in_proxy_list (proxies, address))
                return;
        }
    }
}

const char *forwarded_scheme (const struct guard_head *head)
{
    static const char *const schemes[] = {"http", "https"};
    struct span value = {0};
    for (size_t i = 0; i < head->count && i < GUARD_HEADERS_MAX; i++)
        if (guard_name_is (head->headers[i].name, "X-Forwarded-Proto"))
            value = head->headers[i].value;
    if (!value.size)
        return NULL;
    value = cut_last_entry (&value);
    for (size_t i = 0; i < 2; i++)
        if (guard_name_is (value, schemes[i]))
            return schemes[i];
    return NULL;
}
