// The Lua scripts, embedded at build time (scripts/embed.py), for what plain commands cannot do. No
// script decides anything about a plan. Each script is described at the top of its .lua file.
#pragma once

#include <stddef.h>

enum script {
    SCRIPT_ROWS,
    SCRIPT_PAGE,
    SCRIPT_LIST,
    SCRIPT_ORDERED,
    SCRIPT_MESSAGES,
    SCRIPT_HISTORY,
    SCRIPT_FORGET,
    SCRIPT_OUTPUTS,
    SCRIPT_ATTEND,
    SCRIPTS
};

struct script_text {
    const char *name;
    const char *text;
    size_t size;
};

extern const struct script_text script_texts[SCRIPTS];
