#include "redis_info.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAJOR_MIN = 7 }; // Redis 7 has the script flags ("#!lua flags=") that the scripts use

// The value of a `name:value` line; empty when there is no such line.
static struct span info_value (struct span info, const char *name)
{
    size_t size = strlen (name);
    for (size_t at = 0; at + size < info.size;) {
        const uint8_t *line = info.data + at;
        const uint8_t *end = memchr (line, '\n', info.size - at);
        size_t length = end ? (size_t)(end - line) : info.size - at;
        if (length > size && memcmp (line, name, size) == 0 && line[size] == ':') {
            struct span value = span_of (line + size + 1, length - size - 1);
            if (value.size && value.data[value.size - 1] == '\r')
                value.size--;
            return value;
        }
        at += length + 1;
    }
    return (struct span){0};
}

static void copy_info_value (struct span info, const char *name, char *out, size_t room)
{
    struct span value = info_value (info, name);
    snprintf (out, room, "%.*s", (int)value.size, value.size ? (const char *)value.data : "");
}

static int64_t info_number (struct span info, const char *name)
{
    char text[24];
    copy_info_value (info, name, text, sizeof text);
    return strtoll (text, NULL, 10);
}

void redis_info_read (struct span info, struct redis_facts *ret)
{
    copy_info_value (info, "redis_version", ret->version, sizeof ret->version);
    copy_info_value (info, "maxmemory_policy", ret->policy, sizeof ret->policy);
    ret->used = info_number (info, "used_memory");
    ret->limit = info_number (info, "maxmemory");
    ret->keeps_file = span_is (info_value (info, "aof_enabled"), "1");
}

const char *durability_text (const char *fsync)
{
    static const char *const texts[][2] = {
        {"always", "kept, also when the machine fails"},
        {"everysec",
         "kept when the station fails; up to two seconds are lost when Redis or its machine "
         "is killed"},
        {"no", "kept when a program fails; up to half a minute is lost with the machine"},
        {"", "unknown: Redis was not reached yet"},
        {"none", "lost when Redis ends: it keeps no append-only file"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp (texts[i][0], fsync) == 0)
            return texts[i][1];
    return "unknown: Redis does not report its appendfsync";
}

enum info_verdict redis_info_check (struct span info, enum data_loss loss, struct reason *reason)
{
    struct span version = info_value (info, "redis_version");
    if (info_number (info, "redis_version") < MAJOR_MIN) { // its first number
        reason_set (reason, "version %s is older than %d", quoted (version), MAJOR_MIN);
        return INFO_REFUSED;
    }
    if (span_is (info_value (info, "loading"), "1")) {
        reason_set (reason, "is loading its data");
        return INFO_NOT_NOW;
    }
    if (!span_is (info_value (info, "role"), "master")) {
        reason_set (reason, "is a replica");
        return INFO_NOT_NOW;
    }
    if (loss == LOSS_ACCEPTED)
        return INFO_GOOD;
    if (!span_is (info_value (info, "aof_enabled"), "1")) {
        reason_set (reason,
                    "keeps no append-only file (appendonly no): acknowledged plans could be "
                    "lost; set appendonly yes, or start with --accept-loss");
        return INFO_REFUSED;
    }
    struct span policy = info_value (info, "maxmemory_policy");
    if (!span_is (policy, "noeviction")) {
        reason_set (reason,
                    "may evict plans (maxmemory-policy %s): set noeviction, or start with "
                    "--accept-loss",
                    quoted (policy));
        return INFO_REFUSED;
    }
    return INFO_GOOD;
}
