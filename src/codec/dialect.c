#include "dialect.h"

#include <stddef.h>

#include "nearest.h"
#include "zplan_codes.h"

static const char *const names[DIALECTS] = {
    [DIALECT_ZERONET] = "zeronet", [DIALECT_MICROZERO] = "microzero"};

// A status in both dialects; -1: MicroZero has no such status.
static const struct status_pair {
    int zeronet, microzero;
} pairs[] = {
#define ZPLAN_STATUS(name, zeronet, microzero, word) {zeronet, microzero},
#include "zplan_codes.def"
};

// Further statuses that MicroZero's stations and workers send. zplan converts them to zeronet, and
// never sends them.
static const struct status_pair received_only[] = {
    {ZERO_STATUS_WAITING_ID, '#'},     // a worker's heartbeat: the command's number
    {ZERO_STATUS_NOT_WORKER_ID, 0x81}, // the station is paused: no worker now
    {ZERO_STATUS_TIMEOUT_ID, 0x82},    // the C# client timed out
    {ZERO_STATUS_ERROR_ID, 0xD0},      // a bug in the worker
};

enum {
    PAIRS = sizeof pairs / sizeof *pairs,
    RECEIVED_ONLY = sizeof received_only / sizeof *received_only
};

const char *dialect_name (enum dialect dialect)
{
    return names[dialect];
}

bool dialect_parse (const char *name, enum dialect *ret)
{
    int dialect = word_index (names, DIALECTS, name);
    if (dialect >= 0)
        *ret = (enum dialect)dialect;
    return dialect >= 0;
}

// Zeronet's number for a status of MicroZero, or -1.
static int zeronet_status (uint8_t status)
{
    for (size_t i = 0; i < RECEIVED_ONLY; i++)
        if (received_only[i].microzero == status)
            return received_only[i].zeronet;
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].microzero == status)
            return pairs[i].zeronet;
    return -1;
}

uint8_t dialect_status_in (enum dialect dialect, uint8_t status)
{
    if (status == 0)
        return ZERO_STATUS_ERROR_ID;
    if (dialect == DIALECT_ZERONET)
        return status;
    int ours = zeronet_status (status);
    return ours < 0 ? ZERO_STATUS_ERROR_ID : (uint8_t)ours;
}

bool dialect_status_known (enum dialect dialect, uint8_t status)
{
    if (dialect == DIALECT_MICROZERO)
        return zeronet_status (status) >= 0;
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].zeronet == status)
            return true;
    return false;
}

uint8_t dialect_status_out (enum dialect dialect, uint8_t status)
{
    if (dialect == DIALECT_ZERONET)
        return status;
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].zeronet == status && pairs[i].microzero >= 0)
            return (uint8_t)pairs[i].microzero;
    return status < ZERO_STATUS_ERROR_FLAG ? status
                                           : dialect_status_out (dialect, ZERO_STATUS_FAILED_ID);
}
