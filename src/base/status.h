// Return codes of functions: 0 is success, a negative value is an error class. codec/codes.c maps
// each class to a status of the wire.
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
    ZPLAN_EINTERNAL = -9  // a bug in this program
};
