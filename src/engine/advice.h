// A worker's advice about retries.
#pragma once

#include <stdint.h>

// What a worker advises about the retry of a run that it reports as failed.
enum advice_kind {
    ADVICE_NONE,   // the plan's policy decides
    ADVICE_FINAL,  // no retry
    ADVICE_AFTER,  // a retry after `after_s`
    ADVICE_RELEASE // not a try: the run is queued again, due after `after_s`
};

struct advice {
    enum advice_kind kind;
    int64_t after_s;
};

enum { ADVICE_AFTER_MAX = 86400 };
