// What workers may say about retries.
#pragma once

#include <stdint.h>

// What a worker says of the next try of a run that it reports as failed.
enum advice_kind {
    ADVICE_NONE,   // the plan's policy decides
    ADVICE_FINAL,  // there is to be none
    ADVICE_AFTER,  // not before `after_s`
    ADVICE_RELEASE // it was no try: the run is put back for `after_s`
};

struct advice {
    enum advice_kind kind;
    int64_t after_s;
};

enum { ADVICE_AFTER_MAX = 86400 };
