#include "codes.h"

#include <assert.h>

static const char *const status_words[256] = {
#define ZPLAN_STATUS(name, zeronet, microzero, word) [zeronet] = word,
#include "zplan_codes.def"
};

static const char *const status_names[256] = {
#define ZPLAN_STATUS(name, zeronet, microzero, word) [zeronet] = #name,
#include "zplan_codes.def"
};

static const char *const frame_names[256] = {
#define ZPLAN_FRAME(name, zeronet, microzero, word) [zeronet] = word,
#include "zplan_codes.def"
};

static const char *const event_words[] = {
#define ZPLAN_EVENT(name, value, word) [value] = word,
#include "zplan_codes.def"
};

static const uint8_t error_statuses[] = {
    [-ZPLAN_EFRAME] = ZERO_STATUS_FRAME_INVALID_ID,
    [-ZPLAN_EPLAN] = ZERO_STATUS_FRAME_PLANERROR_ID,
    [-ZPLAN_ENOTFIND] = ZERO_STATUS_NOT_FIND_ID,
    [-ZPLAN_ENOTKNOWN] = ZERO_STATUS_NOT_SUPPORT_ID,
    [-ZPLAN_EARGUMENT] = ZERO_STATUS_MANAGE_ARG_ERROR_ID,
    [-ZPLAN_ENET] = ZERO_STATUS_NET_ERROR_ID,
    [-ZPLAN_EBUSY] = ZERO_STATUS_BUSY_ID,
    [-ZPLAN_EDENY] = ZERO_STATUS_DENY_ID,
    [-ZPLAN_EINTERNAL] = ZERO_STATUS_ERROR_ID,
};

const char *status_word (uint8_t status)
{
    if (status_words[status])
        return status_words[status];
    return status >= ZERO_STATUS_ERROR_FLAG ? "-error" : "+ok";
}

const char *status_name (uint8_t status)
{
    return status_names[status];
}

const char *frame_name (uint8_t type)
{
    return frame_names[type];
}

const char *event_word (int event)
{
    bool known = event > 0 && event < (int)(sizeof event_words / sizeof *event_words);
    return known ? event_words[event] : "?";
}

bool frame_is_output (uint8_t type)
{
    return type == ZERO_FRAME_CONTENT || type == ZERO_FRAME_JSON || type == ZERO_FRAME_XML ||
           type == ZERO_FRAME_BIN;
}

uint8_t status_of_error (enum wire_error error)
{
    assert (error < 0 && error >= ZPLAN_EINTERNAL);
    return error_statuses[-error];
}
