// The Lua scripts, embedded at build (embed.py). Each file in scripts/ says what it does.
#pragma once

#include <stddef.h>

enum script {
    SCRIPT_SUBMIT,
    SCRIPT_PLACE,
    SCRIPT_CLAIM,
    SCRIPT_COMMIT,
    SCRIPT_END,
    SCRIPT_LOAD,
    SCRIPT_REMOVE,
    SCRIPT_LIST,
    SCRIPT_WAKE,
    SCRIPT_SWEEP,
    SCRIPT_CHANGE,
    SCRIPT_HISTORY,
    SCRIPT_OUTPUTS,
    SCRIPT_FORGET,
    SCRIPT_RESTORE,
    SCRIPT_STATIONS,
    SCRIPT_KINDS,
    SCRIPT_LIMITS,
    SCRIPT_TEAM,
    SCRIPT_STATS,
    SCRIPT_ATTEND,
    SCRIPT_IDENTITY,
    SCRIPT_ROWS,
    SCRIPT_PAGE,
    SCRIPTS
};

struct script_text {
    const char *name;
    const char *text;
    size_t size;
};

extern const struct script_text script_texts[SCRIPTS];
