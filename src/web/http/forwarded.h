// The client of a request that came through proxies. Headers about it are only trusted from peers
// that are proxies, and only the entries that proxies have written. Pure.
#pragma once

#include "guard.h"
#include "ip.h"

enum { FORWARDED_SIZE = IP_TEXT_SIZE };

// Check that the text is a list of addresses and ADDRESS/BITS with commas between them. 0, or -1
// with a reason.
int forwarded_check (const char *proxies, struct reason *reason);

// Whether an address is in the list of proxies. False also for a text that is no address.
bool forwarded_is_proxy (const char *proxies, const char *address);

// The address of the client of a request that came from a proxy: the rightmost of X-Forwarded-For
// that is no proxy; `peer` if the header has none. An entry that is not an address ends the search,
// since entries to its left may be forged.
void forwarded_address (const struct guard_head *head, const char *proxies, const char *peer,
                        char out[FORWARDED_SIZE]);

// The scheme in the last entry of X-Forwarded-Proto, "http" or "https"; NULL: it is not known.
const char *forwarded_scheme (const struct guard_head *head);
