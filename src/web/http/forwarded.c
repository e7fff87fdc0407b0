#include "forwarded.h"

#include <arpa/inet.h>
#include <stdio.h>

// An address of either family: IPv4 is mapped to ::ffff:0:0/96.
struct ip_address {
    uint8_t bytes[16];
};

static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

static bool is_ipv4_mapped (const struct ip_address *self)
{
    return memcmp (self->bytes, mapped, sizeof mapped) == 0;
}

static bool address_read (struct span text, struct ip_address *ret)
{
    char name[INET6_ADDRSTRLEN];
    if (!text.size || text.size >= sizeof name || memchr (text.data, '\0', text.size))
        return false;
    snprintf (name, sizeof name, "%.*s", (int)text.size, (const char *)text.data);
    memcpy (ret->bytes, mapped, sizeof mapped);
    return inet_pton (AF_INET, name, ret->bytes + sizeof mapped) == 1 ||
           inet_pton (AF_INET6, name, ret->bytes) == 1;
}

static void address_write (const struct ip_address *self, char out[FORWARDED_SIZE])
{
    if (is_ipv4_mapped (self))
        inet_ntop (AF_INET, self->bytes + sizeof mapped, out, FORWARDED_SIZE);
    else
        inet_ntop (AF_INET6, self->bytes, out, FORWARDED_SIZE);
}

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

// Parse ADDRESS or ADDRESS/BITS; `ret_bits` is the prefix length in the 128-bit form. False:
// invalid.
static bool parse_range (struct span text, struct ip_address *ret, int *ret_bits)
{
    const uint8_t *slash = text.size ? memchr (text.data, '/', text.size) : NULL;
    size_t size = slash ? (size_t)(slash - text.data) : text.size;
    if (!size || !address_read (span_of (text.data, size), ret))
        return false;
    int first = is_ipv4_mapped (ret) && !memchr (text.data, ':', size) ? 96 : 0, bits = 0;
    *ret_bits = 128;
    if (!slash)
        return true;
    if (text.size - size < 2 || text.size - size > 4)
        return false;
    for (size_t i = size + 1; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        bits = bits * 10 + (text.data[i] - '0');
    }
    *ret_bits = first + bits;
    return *ret_bits <= 128;
}

static bool range_contains (const struct ip_address *range, int bits,
                            const struct ip_address *address)
{
    int whole = bits / 8, rest = bits % 8;
    if (memcmp (range->bytes, address->bytes, (size_t)whole) != 0)
        return false;
    return !rest || (range->bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

int forwarded_check (const char *proxies, struct reason *reason)
{
    struct span rest = span_text (proxies);
    struct ip_address ignored;
    int bits;
    while (rest.size) {
        struct span text = cut_last_entry (&rest);
        if (!parse_range (text, &ignored, &bits))
            return reason_set (reason, "want addresses and ADDRESS/BITS with commas, got %s",
                               quoted (text));
    }
    return 0;
}

static bool is_in_proxy_list (const char *proxies, const struct ip_address *address)
{
    struct span rest = span_text (proxies);
    struct ip_address range;
    int bits;
    while (rest.size)
        if (parse_range (cut_last_entry (&rest), &range, &bits) &&
            range_contains (&range, bits, address))
            return true;
    return false;
}

bool forwarded_is_proxy (const char *proxies, const char *address)
{
    struct ip_address read;
    return address_read (span_text (address), &read) && is_in_proxy_list (proxies, &read);
}

// -- the headers

// Parse ADDRESS, ADDRESS:PORT, [ADDRESS] or [ADDRESS]:PORT. False: invalid.
static bool parse_forwarded_entry (struct span text, struct ip_address *ret)
{
    const uint8_t *end;
    if (text.size && text.data[0] == '[') {
        end = memchr (text.data, ']', text.size);
        return end && address_read (span_of (text.data + 1, (size_t)(end - text.data) - 1), ret);
    }
    if (!text.size)
        return false;
    if (address_read (text, ret))
        return true;
    end = memchr (text.data, ':', text.size);
    return end && memchr (text.data, '.', text.size) &&
           address_read (span_of (text.data, (size_t)(end - text.data)), ret);
}

void forwarded_address (const struct guard_head *head, const char *proxies, const char *peer,
                        char out[FORWARDED_SIZE])
{
    struct ip_address address;
    snprintf (out, FORWARDED_SIZE, "%s", peer);
    size_t count = head->count < GUARD_HEADERS_MAX ? head->count : GUARD_HEADERS_MAX;
    for (size_t i = count; i-- > 0;) {
        struct span rest = head->headers[i].value;
        if (!guard_name_is (head->headers[i].name, "X-Forwarded-For"))
            continue;
        while (rest.size) {
            if (!parse_forwarded_entry (cut_last_entry (&rest), &address))
                return;
            address_write (&address, out);
            if (!is_in_proxy_list (proxies, &address))
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
