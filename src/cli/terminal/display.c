#include "display.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "settings.h"

// BOTH_COLUMNS: the minimum width for both forms of a time and a readable title on a line.
enum { BOTH_COLUMNS = 120, COLUMNS_DEFAULT = 80, COLUMNS_MAX = 10000 };

static struct display current;
static const char *times; // the value of --times

const struct display *display_get (void)
{
    return &current;
}

struct display_size display_size (void)
{
    struct winsize size = {0};
    int64_t columns;
    const char *variable = getenv ("COLUMNS");
    if (!isatty (STDOUT_FILENO))
        return (struct display_size){0, 0};
    if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return (struct display_size){size.ws_col, size.ws_row};
    if (variable && number_parse (variable, &columns) && columns > 0 && columns <= COLUMNS_MAX)
        return (struct display_size){(int)columns, 0};
    return (struct display_size){COLUMNS_DEFAULT, 0};
}

static bool uses_colours (const struct cli *cli)
{
    const char *none = getenv ("NO_COLOR");
    if (cli->json || strcmp (cli->color, "never") == 0)
        return false;
    if (strcmp (cli->color, "always") == 0)
        return true;
    return current.terminal && !(none && *none) && current.controllable;
}

void display_init (const struct cli *cli)
{
    // LC_CTYPE is for the widths of characters; titles are UTF-8 in any locale.
    if (!setlocale (LC_CTYPE, "") || strcmp (nl_langinfo (CODESET), "UTF-8") != 0)
        setlocale (LC_CTYPE, "C.UTF-8");
    const char *kind = getenv ("TERM");
    current.terminal = isatty (STDOUT_FILENO);
    current.controllable = kind && strcmp (kind, "dumb") != 0;
    current.coloured = uses_colours (cli);
    times = cli->times;
    display_refresh ();
}

void display_refresh (void)
{
    static const char *const styles[] = {[MOMENT_ABSOLUTE] = "absolute",
                                         [MOMENT_RELATIVE] = "relative",
                                         [MOMENT_BOTH] = "both",
                                         [MOMENT_UNIX] = "unix"};
    if (current.terminal)
        current.columns = display_size ().columns;
    current.times = !current.terminal                ? MOMENT_ABSOLUTE
                    : current.columns < BOTH_COLUMNS ? MOMENT_RELATIVE
                                                     : MOMENT_BOTH;
    current.times_alone = current.terminal ? MOMENT_BOTH : MOMENT_ABSOLUTE;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp (styles[i], times) == 0)
            current.times = current.times_alone = (enum moment_style)i;
    current.now = clock_wall_us () / 1000000;
}

static const char *const colours[] = {
    [RED] = "31", [GREEN] = "32", [YELLOW] = "33", [CYAN] = "36", [DIM] = "2", [BOLD] = "1"};

void colour_on (FILE *file, enum colour colour)
{
    if (current.coloured && colour != PLAIN)
        fprintf (file, "\x1b[%sm", colours[colour]);
}

void colour_off (FILE *file, enum colour colour)
{
    if (current.coloured && colour != PLAIN)
        fputs ("\x1b[0m", file);
}
