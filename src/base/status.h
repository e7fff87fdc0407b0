// How calls of ours fail: 0 is done, negative is the reason's class. Each class maps to one status
// of the wire, once, in codec/codes.c.
#pragma once

enum wire_error {
    ZPLAN_EFRAME = -1,    // the message breaks the framing rules
    ZPLAN_EPLAN = -2,     // a plan frame or field is wrong or missing
    ZPLAN_ENOTFIND = -3,  // no such station or plan
    ZPLAN_ENOTKNOWN = -4, // no such admin command
    ZPLAN_EARGUMENT = -5, // an argument of a command is wrong, or the plan is in the wrong state
    ZPLAN_ENET = -6,      // Redis is away
    ZPLAN_EBUSY = -7,     // a limit is reached
    ZPLAN_EDENY = -8,     // not allowed
    ZPLAN_EINTERNAL = -9  // a defect of ours
};
