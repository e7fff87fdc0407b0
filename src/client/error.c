// The texts of the errors of libzplan.
#include "zplan_error.h"

const char *zplan_error_text (int error)
{
    static const char *const texts[] = {
        [-ZPLAN_OK] = "done",
        [-ZPLAN_ERROR_NO_ANSWER] = "no answer within the timeout",
        [-ZPLAN_ERROR_ARGUMENT] = "an argument is missing or wrong",
        [-ZPLAN_ERROR_MEMORY] = "out of memory",
        [-ZPLAN_ERROR_SOCKET] = "no socket can be made",
        [-ZPLAN_ERROR_AGAIN] = "too many requests are in progress, try again later",
        [-ZPLAN_ERROR_NESTED] = "not from a callback",
        [-ZPLAN_ERROR_CLOSED] = "closed before there was an answer",
    };
    enum { TEXTS = sizeof texts / sizeof *texts };
    return error <= 0 && error > -TEXTS ? texts[-error] : "unknown error";
}
