// The style of the output: whether stdout is a terminal, its width, and the user's choice of
// colours and times. Decided once, when the program starts; does not apply to output for programs.
#pragma once

#include <stdio.h>

#include "moment.h"
#include "verbs.h"

struct display {
    bool terminal;                 // stdout is a terminal
    int columns;                   // the terminal's width; 0 = nothing is cut
    bool controllable;             // the terminal accepts control sequences; false if it is dumb
    bool coloured;                 // never with --json
    enum moment_style times;       // style of times in a table
    enum moment_style times_alone; // style of a time on a line of its own, where there is room
    int64_t now;                   // Unix seconds, when the program started
};

// The words of --color and --times, separated by spaces, for the option tables.
#define DISPLAY_COLOURS "auto always never"
#define DISPLAY_TIMES   "auto relative absolute both unix"

// Decide the style from the options, whose values were checked against their tables.
void display_init (const struct cli *cli);

const struct display *display_get (void);

// For a live view: update the time, and the width, as the terminal may have been resized.
void display_refresh (void);

// The terminal's current columns and rows, as it may have been resized. 0 without a terminal.
struct display_size {
    int columns, rows;
} display_size (void);

enum colour { PLAIN, RED, GREEN, YELLOW, CYAN, DIM, BOLD };

// Output between these two calls has the colour, if colours are enabled.
void colour_on (FILE *file, enum colour colour);
void colour_off (FILE *file, enum colour colour);
