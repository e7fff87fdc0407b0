// Where callbacks may connect: networks as text, and which addresses are denied.
#include "rows.h"

#include "address_rules.h"

static void read_address (const char *text, uint8_t ret[16])
{
    if (!ip_read (span_text (text), ret))
        fail_msg ("%s: no address", text);
}

static void by_default (void **state)
{
    static const struct {
        const char *address;
        enum address_verdict verdict;
    } rows[] = {
        {"1.1.1.1", ADDRESS_PUBLIC},
        {"0.0.0.0", ADDRESS_DENIED},
        {"10.1.2.3", ADDRESS_DENIED},
        {"9.255.255.255", ADDRESS_PUBLIC},
        {"100.63.255.255", ADDRESS_PUBLIC},
        {"100.64.0.1", ADDRESS_DENIED},
        {"100.127.255.255", ADDRESS_DENIED},
        {"100.128.0.0", ADDRESS_PUBLIC},
        {"127.0.0.1", ADDRESS_DENIED},
        {"127.255.255.255", ADDRESS_DENIED},
        {"169.254.169.254", ADDRESS_DENIED},
        {"172.15.255.255", ADDRESS_PUBLIC},
        {"172.16.0.1", ADDRESS_DENIED},
        {"172.31.255.255", ADDRESS_DENIED},
        {"172.32.0.0", ADDRESS_PUBLIC},
        {"192.0.0.1", ADDRESS_DENIED},
        {"192.0.2.1", ADDRESS_DENIED},
        {"192.31.196.1", ADDRESS_DENIED},
        {"192.52.193.1", ADDRESS_DENIED},
        {"192.88.99.1", ADDRESS_DENIED},
        {"192.168.0.1", ADDRESS_DENIED},
        {"192.169.0.1", ADDRESS_PUBLIC},
        {"192.175.48.1", ADDRESS_DENIED},
        {"198.17.255.255", ADDRESS_PUBLIC},
        {"198.18.0.1", ADDRESS_DENIED},
        {"198.19.255.255", ADDRESS_DENIED},
        {"198.51.100.1", ADDRESS_DENIED},
        {"203.0.113.1", ADDRESS_DENIED},
        {"223.255.255.255", ADDRESS_PUBLIC},
        {"224.0.0.1", ADDRESS_DENIED},
        {"240.0.0.1", ADDRESS_DENIED},
        {"255.255.255.255", ADDRESS_DENIED},
        {"168.63.129.16", ADDRESS_DENIED},
        {"168.63.129.17", ADDRESS_PUBLIC},
        {"::", ADDRESS_DENIED},
        {"::1", ADDRESS_DENIED},
        {"::7f00:1", ADDRESS_DENIED},
        {"::ffff:127.0.0.1", ADDRESS_DENIED},
        {"::ffff:1.1.1.1", ADDRESS_PUBLIC},
        {"2606:4700::1111", ADDRESS_PUBLIC},
        {"2001::1", ADDRESS_DENIED},
        {"2001:1ff::1", ADDRESS_DENIED},
        {"2001:200::1", ADDRESS_PUBLIC},
        {"2001:db8::1", ADDRESS_DENIED},
        {"2002:7f00:1::", ADDRESS_DENIED},
        {"3fff::1", ADDRESS_DENIED},
        {"3fff:1000::1", ADDRESS_PUBLIC},
        {"4000::1", ADDRESS_DENIED},
        {"64:ff9b::7f00:1", ADDRESS_DENIED},
        {"64:ff9b::101:101", ADDRESS_PUBLIC},
        {"64:ff9b:1::101:101", ADDRESS_DENIED},
        {"fc00::1", ADDRESS_DENIED},
        {"fe80::1", ADDRESS_DENIED},
        {"fec0::1", ADDRESS_DENIED},
        {"ff02::1", ADDRESS_DENIED},
    };
    static const struct address_rules rules;
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        uint8_t address[16];
        read_address (rows[i].address, address);
        CHECK_INT (rows[i].address, address_check (&rules, address), rows[i].verdict);
    }
}

static void with_rules (void **state)
{
    static struct address_rules rules;
    static const struct {
        const char *address;
        enum address_verdict verdict;
    } rows[] = {
        {"10.1.2.3", ADDRESS_LISTED},
        {"10.1.9.9", ADDRESS_DENIED},        // `deny` within `allow`
        {"10.2.0.1", ADDRESS_DENIED},        // beside it
        {"127.0.0.1", ADDRESS_LISTED},       // `allow` before what is this machine's own
        {"169.254.169.254", ADDRESS_DENIED}, // never
        {"::ffff:169.254.169.254", ADDRESS_DENIED},
        {"100.100.100.200", ADDRESS_DENIED},
        {"192.0.0.192", ADDRESS_DENIED},
        {"fd00:ec2::254", ADDRESS_DENIED},
        {"fd20:ce::254", ADDRESS_DENIED},
        {"fd00:ec2::253", ADDRESS_LISTED},
        {"fe80::1", ADDRESS_DENIED},
        {"64:ff9b::a9fe:a9fe", ADDRESS_DENIED},
        {"2a00:1:2:3::1", ADDRESS_DENIED}, // a network on a link
        {"2a00:1:2:4::1", ADDRESS_PUBLIC},
        {"2a00:64::a01:203", ADDRESS_LISTED},       // NAT64 of 96 bits: 10.1.2.3
        {"2a00:64::a02:1", ADDRESS_DENIED},         // 10.2.0.1
        {"2a00:64::101:101", ADDRESS_PUBLIC},       // 1.1.1.1
        {"2a00:65:0a01:0203::", ADDRESS_LISTED},    // of 32 bits: 10.1.2.3
        {"2a00:66:0:0a01:2:300::", ADDRESS_LISTED}, // of 48 bits: 10.1.2.3 around byte 8
        {"2a00:66:0:0a02:0:100::", ADDRESS_DENIED},
        {"9.9.9.9", ADDRESS_DENIED},
        {"64:ff9b::909:909", ADDRESS_DENIED},
    };
    static const char *const allow[] = {"10.1.0.0/16",    "127.0.0.0/8",  "169.254.0.0/16",
                                        "100.100.0.0/16", "192.0.0.0/24", "fd00::/8",
                                        "fe80::/10"};
    struct reason reason;
    (void)state;
    for (size_t i = 0; i < ROWS (allow); i++)
        CHECK_INT (allow[i], networks_add (&rules.allow, allow[i], &reason), 0);
    CHECK_INT ("deny", networks_add (&rules.deny, "10.1.9.0/24", &reason), 0);
    CHECK_INT ("deny", networks_add (&rules.deny, "9.9.9.9", &reason), 0);
    CHECK_INT ("own", networks_add (&rules.own, "127.0.0.1", &reason), 0);
    CHECK_INT ("own", networks_add (&rules.own, "2a00:1:2:3::/64", &reason), 0);
    CHECK_INT ("nat64", networks_add_nat64 (&rules.nat64, "2a00:64::/96", &reason), 0);
    CHECK_INT ("nat64", networks_add_nat64 (&rules.nat64, "2a00:65::/32", &reason), 0);
    CHECK_INT ("nat64", networks_add_nat64 (&rules.nat64, "2a00:66::/48", &reason), 0);
    for (size_t i = 0; i < ROWS (rows); i++) {
        uint8_t address[16];
        read_address (rows[i].address, address);
        CHECK_INT (rows[i].address, address_check (&rules, address), rows[i].verdict);
    }
}

static void texts (void **state)
{
    static const struct {
        const char *text;
        int bits; // -1: it is refused
    } rows[] = {
        {"10.0.0.0/8", 104},
        {"1.2.3.4", 128},
        {"1.2.3.4/32", 128},
        {"0.0.0.0/0", 96},
        {"::/0", 0},
        {"fd00::/8", 8},
        {"::1", 128},
        {"10.0.0.1/8", -1},
        {"10.0.0.0/33", -1},
        {"::/129", -1},
        {"10.0.0.0/", -1},
        {"10.0.0.0/-1", -1},
        {"10.0.0.0/8x", -1},
        {"10.0/16", -1},
        {"a.example", -1},
        {"", -1},
        {"/8", -1},
        {"fe80::1%lo", -1},
        {"1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2.3.4.1.2", -1},
    };
    static struct networks nat64;
    struct reason reason;
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct network network = {.bits = -1};
        CHECK_INT (rows[i].text, network_read (rows[i].text, &network, &reason),
                   rows[i].bits < 0 ? -1 : 0);
        CHECK_INT (rows[i].text, network.bits, rows[i].bits);
    }
    CHECK_INT ("a prefix of 44 bits", networks_add_nat64 (&nat64, "2a00::/44", &reason), -1);
    CHECK_INT ("a prefix of IPv4", networks_add_nat64 (&nat64, "0.0.0.0/0", &reason), -1);
    CHECK_INT ("no prefix stays", nat64.count, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (by_default), cmocka_unit_test (with_rules),
                                       cmocka_unit_test (texts)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
