// zplan: the command line of the station. Reads the options that all verbs share, and runs the
// verb.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "display.h"
#include "nearest.h"
#include "process.h"
#include "verb_table.h"

static int fail_usage (const char *what)
{
    fprintf (stderr, "zplan: %s\nTry: zplan --help\n", what);
    return EXIT_USAGE;
}

// Report a first word that is neither a verb nor an option.
static int fail_unknown_word (const char *word)
{
    size_t count;
    bool is_option = *word == '-';
    struct reason reason;
    struct nearest nearest = nearest_to (word);
    const struct option_group shared = shared_options (NULL);
    const struct verb *verbs = verb_table (&count);
    for (size_t i = 0; is_option && i < shared.count; i++)
        nearest_try (&nearest, shared.rows[i].name);
    for (size_t i = 0; !is_option && i < count; i++) {
        nearest_try (&nearest, verbs[i].name);
        nearest_try_list (&nearest, verbs[i].aliases ? verbs[i].aliases : "");
    }
    nearest_try_list (&nearest, is_option ? "--help --version" : "help version");
    reason_set (&reason, "unknown %s %s%s", is_option ? "option" : "command",
                quoted (span_text (word)), nearest_hint (&nearest));
    return fail_usage (reason.text);
}

// Report a word that could mean two verbs with different effects.
static int fail_ambiguous (const char *word)
{
    fprintf (stderr,
             "zplan: %s could mean two things\n"
             "  zplan pause ID...    stops future runs\n"
             "  zplan cancel ID...   ends the run in progress\n",
             word);
    return EXIT_USAGE;
}

// zplan help [VERB]: run the verb with --help, or list the verbs.
static int show_help (struct cli *cli)
{
    if (cli->argc < 2)
        return print_verbs ();
    const struct verb *verb = verb_named (cli->argv[1]);
    if (!verb)
        return fail_unknown_word (cli->argv[1]);
    cli->verb = verb->name;
    cli->argc = 2;
    cli->argv = (char *[]){cli->argv[1], "--help", NULL};
    return verb->run (cli);
}

// Run the verb. Only --help and --version can precede it now: the shared options were removed.
static int run_verb (struct cli *cli)
{
    const char *first = cli->argc > 0 ? cli->argv[0] : NULL;
    if (!first)
        return fail_usage ("want a command");
    if (strcmp (first, "--help") == 0 || strcmp (first, "-h") == 0)
        return print_verbs ();
    if (strcmp (first, "help") == 0)
        return show_help (cli);
    if (strcmp (first, "--version") == 0 || strcmp (first, "version") == 0) {
        printf ("zplan %s\n", ZPLAN_VERSION);
        return EXIT_DONE;
    }
    if (strcmp (first, "stop") == 0)
        return fail_ambiguous (first);
    const struct verb *verb = verb_named (first);
    if (!verb)
        return fail_unknown_word (first);
    cli->verb = verb->name;
    return verb->run (cli);
}

static const char *environment_value (const char *name, const char *fallback)
{
    const char *value = getenv (name);
    return value && *value ? value : fallback;
}

// If the reader of stdout has closed its end, end by SIGPIPE, as programs do that do not ignore it.
static void end_with_reader (void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll (&out, 1, 0) != 1 || !(out.revents & POLLERR))
        return;
    process_reset_signals (HANGUP_KEPT);
    raise (SIGPIPE);
}

int main (int argc, char **argv)
{
    if (argc < 1)
        return EXIT_USAGE;
    process_begin (HANGUP_KEPT);
    struct cli cli = {.connect = environment_value ("ZPLAN_CONNECT", "tcp://127.0.0.1:7920"),
                      .publish = environment_value ("ZPLAN_PUBLISH", "tcp://127.0.0.1:7921"),
                      .key = environment_value ("ZPLAN_KEY", NULL),
                      .server_key = environment_value ("ZPLAN_SERVER_KEY", NULL),
                      .timeout_ms = 5000,
                      .color = "auto",
                      .times = "auto"};
    const struct option_group shared = shared_options (&cli);
    struct reason reason;
    int left = options_extract (&shared, argc, argv, &reason);
    if (left < 0)
        return fail_usage (reason.text);
    cli.argc = left - 1;
    cli.argv = argv + 1;

    display_init (&cli);
    int code = run_verb (&cli);
    if (fflush (stdout) == 0 && !ferror (stdout))
        return code;
    end_with_reader ();
    fprintf (stderr, "zplan: the output cannot be written\n");
    return code == EXIT_DONE ? EXIT_REFUSED : code;
}
