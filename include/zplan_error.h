// Errors of libzplan.
#ifndef ZPLAN_ERROR_H
#define ZPLAN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum zplan_error {
    ZPLAN_OK = 0, // success; of a request: there is a reply, whose status may be a rejection
    ZPLAN_ERROR_NO_ANSWER = -1, // no answer within the timeout
    ZPLAN_ERROR_ARGUMENT = -2,  // nothing was done: an argument is missing or wrong
    ZPLAN_ERROR_MEMORY = -3,    // nothing was done: out of memory
    ZPLAN_ERROR_SOCKET = -4,    // nothing was done: no socket can be made, or descriptors ran out
    ZPLAN_ERROR_AGAIN = -5,     // nothing was done: too many requests are in progress; retry later
    ZPLAN_ERROR_NESTED = -6,    // nothing was done: this call is not allowed in a callback
    ZPLAN_ERROR_CLOSED = -7     // the object was destroyed before there was an answer
};

// The text of an enum zplan_error, in English and without a full stop. The string is static; for
// any other number it is "unknown error".
const char *zplan_error_text (int error);

#ifdef __cplusplus
}
#endif

#endif
