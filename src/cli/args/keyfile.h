// --key and --server-key: what the verbs connect with when the station wants keys.
#pragma once

#include "curve.h"
#include "verbs.h"
#include "zplan.h"

struct keyfile {
    bool given; // false: connect without CURVE
    struct curve_cert cert;
    struct zplan_curve curve; // borrows from `cert` and the command line
};

// Read the key that the command line or the environment names. 0, or -1: reported on stderr, and
// the verb ends with `ret_exit`. Must not be moved afterwards: it points into itself.
int keyfile_read (struct keyfile *self, const struct cli *cli, int *ret_exit);

// What to add to "no answer": a refused key looks like that. "" without a key.
const char *keyfile_hint (const struct cli *cli);
