#include "ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { IPV4_AT = 12 };

static const uint8_t mapped[IPV4_AT] = {[10] = 0xff, 0xff};

bool ip_of_socket (const struct sockaddr *from, uint8_t ret[IP_SIZE])
{
    const struct sockaddr_in *in = (const void *)from;
    const struct sockaddr_in6 *in6 = (const void *)from;
    if (from->sa_family == AF_INET) {
        memcpy (ret, mapped, IPV4_AT);
        memcpy (ret + IPV4_AT, &in->sin_addr, sizeof in->sin_addr);
    } else if (from->sa_family == AF_INET6) {
        memcpy (ret, &in6->sin6_addr, IP_SIZE);
    }
    return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

bool ip_read (struct span text, uint8_t ret[IP_SIZE])
{
    char name[INET6_ADDRSTRLEN] = "";
    if (!text.size || text.size >= sizeof name || memchr (text.data, '\0', text.size))
        return false;
    span_put (name, 0, text);
    memcpy (ret, mapped, IPV4_AT);
    return inet_pton (AF_INET, name, ret + IPV4_AT) == 1 || inet_pton (AF_INET6, name, ret) == 1;
}

const char *ip_text (const uint8_t address[IP_SIZE], char out[IP_TEXT_SIZE])
{
    bool is_ipv4 = memcmp (address, mapped, IPV4_AT) == 0;
    return inet_ntop (is_ipv4 ? AF_INET : AF_INET6, address + (is_ipv4 ? IPV4_AT : 0), out,
                      IP_TEXT_SIZE);
}

bool network_parse (struct span text, struct network *ret)
{
    const uint8_t *slash = text.size ? memchr (text.data, '/', text.size) : NULL;
    struct span address = span_of (text.data, slash ? (size_t)(slash - text.data) : text.size);
    size_t digits = text.size - address.size - 1;
    int bits = 0;
    if (!ip_read (address, ret->bytes))
        return false;
    ret->bits = 128;
    if (!slash)
        return true;
    for (size_t i = 1; i <= digits; i++) {
        if (slash[i] < '0' || slash[i] > '9' || i > 3)
            return false;
        bits = bits * 10 + (slash[i] - '0');
    }
    ret->bits = bits + (memchr (address.data, ':', address.size) ? 0 : 8 * IPV4_AT);
    return digits && ret->bits <= 128;
}

bool network_has (const struct network *self, const uint8_t address[IP_SIZE])
{
    size_t whole = (size_t)self->bits / 8;
    int rest = self->bits % 8;
    return memcmp (self->bytes, address, whole) == 0 &&
           (rest == 0 || ((self->bytes[whole] ^ address[whole]) >> (8 - rest)) == 0);
}
