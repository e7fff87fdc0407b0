// How the output looks: whether stdout is a terminal, how wide it is, and what the user wants of
// colours and times. Decided once, when the program starts; output for programs has none of it.
#pragma once

#include <stdio.h>

#include "moment.h"
#include "verbs.h"

struct display {
    bool terminal;                 // stdout is one
    int columns;                   // of it; 0 = nothing is cut
    bool obeys;                    // a terminal takes commands; false of a dumb one
    bool coloured;                 // only ever without --json
    enum moment_style times;       // in a table
    enum moment_style times_alone; // on a line of its own, where there is room
    int64_t now;                   // Unix seconds, when the program started
};

// The words of --color and --times, separated by spaces, for the option tables.
#define LOOK_COLOURS "auto always never"
#define LOOK_TIMES   "auto relative absolute both unix"

// Decide, by the words of the options, which were checked against their tables.
void look_decide (const struct cli *cli);

const struct display *look_now (void);

// For a view that lives on: the time, and the width of a terminal that was resized.
void look_again (void);

// The terminal's columns and rows now: it may have been resized. 0 where there is none.
struct look_size {
    int columns, rows;
} look_size (void);

enum colour { PLAIN, RED, GREEN, YELLOW, CYAN, DIM, BOLD };

// Output between these two has the colour, if there are colours.
void colour_on (FILE *file, enum colour colour);
void colour_off (FILE *file, enum colour colour);
