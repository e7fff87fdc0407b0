// How the calls of libzplan end.
#ifndef ZPLAN_ERROR_H
#define ZPLAN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum zplan_error {
    ZPLAN_OK = 0,               // done; of a request: there is a reply, whose status may refuse it
    ZPLAN_ERROR_NO_ANSWER = -1, // nothing came within the time-out
    ZPLAN_ERROR_ARGUMENT = -2,  // nothing was done: an argument is missing or wrong
    ZPLAN_ERROR_MEMORY = -3,    // nothing was done: there is no memory
    ZPLAN_ERROR_SOCKET = -4,    // nothing was done: no socket can be made, or descriptors ran out
    ZPLAN_ERROR_AGAIN = -5,     // nothing was done: as much as can be is in hand; try again later
    ZPLAN_ERROR_NESTED = -6,    // nothing was done: a callback may not make this call
    ZPLAN_ERROR_CLOSED = -7     // the object was destroyed before there was an answer
};

// An enum zplan_error in words, in English and without a full stop. The text is static; what is no
// zplan_error is "unknown error".
const char *zplan_error_text (int error);

#ifdef __cplusplus
}
#endif

#endif
