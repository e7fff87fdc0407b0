#include "display.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "settings.h"

// The least width at which a line has room for both forms of a time and a readable title.
enum { BOTH_COLUMNS = 120, COLUMNS_DEFAULT = 80, COLUMNS_MAX = 10000 };

static struct display decided;
static const char *times; // the value of --times

const struct display *display_get (void)
{
    return &decided;
}

struct look_size display_size (void)
{
    struct winsize size = {0};
    int64_t columns;
    const char *variable = getenv ("COLUMNS");
    if (!isatty (STDOUT_FILENO))
        return (struct look_size){0, 0};
    if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return (struct look_size){size.ws_col, size.ws_row};
    if (variable && number_parse (variable, &columns) && columns > 0 && columns <= COLUMNS_MAX)
        return (struct look_size){(int)columns, 0};
    return (struct look_size){COLUMNS_DEFAULT, 0};
}

static bool uses_colours (const struct cli *cli, bool terminal)
{
    const char *none = getenv ("NO_COLOR");
    if (cli->json || strcmp (cli->color, "never") == 0)
        return false;
    if (strcmp (cli->color, "always") == 0)
        return true;
    return terminal && !(none && *none) && decided.obeys;
}

static void decide_times (void)
{
    static const struct {
        const char *word;
        enum moment_style style;
    } styles[] = {{"relative", MOMENT_RELATIVE},
                  {"absolute", MOMENT_ABSOLUTE},
                  {"both", MOMENT_BOTH},
                  {"unix", MOMENT_UNIX}};
    decided.times = !decided.terminal                ? MOMENT_ABSOLUTE
                    : decided.columns < BOTH_COLUMNS ? MOMENT_RELATIVE
                                                     : MOMENT_BOTH;
    decided.times_alone = decided.terminal ? MOMENT_BOTH : MOMENT_ABSOLUTE;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp (styles[i].word, times) == 0)
            decided.times = decided.times_alone = styles[i].style;
}

void display_init (const struct cli *cli)
{
    // LC_CTYPE is for the widths of characters; titles are UTF-8 in any locale.
    if (!setlocale (LC_CTYPE, "") || strcmp (nl_langinfo (CODESET), "UTF-8") != 0)
        setlocale (LC_CTYPE, "C.UTF-8");
    decided.columns = display_size ().columns;
    decided.terminal = decided.columns > 0;
    const char *kind = getenv ("TERM");
    decided.obeys = kind && strcmp (kind, "dumb") != 0;
    decided.coloured = uses_colours (cli, decided.terminal);
    times = cli->times;
    decide_times ();
    decided.now = clock_wall_us () / 1000000;
}

void display_refresh (void)
{
    if (decided.terminal)
        decided.columns = display_size ().columns;
    decide_times ();
    decided.now = clock_wall_us () / 1000000;
}

static const char *const colours[] = {
    [RED] = "31", [GREEN] = "32", [YELLOW] = "33", [CYAN] = "36", [DIM] = "2", [BOLD] = "1"};

void colour_on (FILE *file, enum colour colour)
{
    if (decided.coloured && colour != PLAIN)
        fprintf (file, "\x1b[%sm", colours[colour]);
}

void colour_off (FILE *file, enum colour colour)
{
    if (decided.coloured && colour != PLAIN)
        fputs ("\x1b[0m", file);
}
