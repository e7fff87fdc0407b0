// zplan flow: the table of its subcommands, their help, and which one was typed.
#include "flow_command.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_options.h"
#include "memory.h"
#include "print.h"

// -- what each subcommand does

static const char *const sections[FLOW_SECTIONS] = {
    [LOCAL] = "These need no station",
    [STORED] = "The station keeps definitions, each with its versions 1, 2, ...",
    [RUNS] = "RUN is the number of a run, or `last`: the newest one",
    [PEOPLE] = "What people do to a run; STEP.3 is item 3 of a step with for_each",
};

#define ROW(name, run, min, max, rule, ...)                                                        \
    {                                                                                              \
        {name, min, max, rule}, run, __VA_ARGS__                                                   \
    }
const struct flow_verb flow_rows[FLOW_WORDS] = {
    ROW ("check", flow_check, 1, INT_MAX, "want a file", "FILE...", LOCAL, 0,
         "say what is wrong with it, everything at once; else how many calls a run "
         "makes at most, whether its time is bounded, and what looks like a mistake. A "
         "target is a flow when its file is given as well",
         "  zplan flow check greeting.yaml\n"
         "  zplan flow check night.json etl.json  # night has a step whose target is etl\n"),
    ROW ("graph", flow_draw, 1, 1, "want one file, flow or run", "FILE|NAME|RUN", LOCAL,
         GRAPH | LAST,
         "draw it: a line for each step, by layers. A step stands below all steps that "
         "it waits for. What is no file is a flow that the station has, or else a run: "
         "then a letter says the state of each step. --dot and --mermaid write texts "
         "for programs that draw, --svg runs `dot` of Graphviz",
         "  zplan flow graph greeting.yaml\n"
         "  zplan flow graph greeting.yaml --svg >greeting.svg\n"
         "  zplan flow graph greeting --mermaid\n"
         "  zplan flow graph last --flow greeting\n"),
    ROW ("simulate", flow_rehearse, 1, INT_MAX, "want a file", "FILE...", LOCAL, SIMULATE,
         "run the first one on a virtual clock, with the rules of the station: a "
         "line an event, when the run ends, its critical path, and what it waited "
         "for: slots, targets, limits, workers. The other files are its sub-flows, "
         "whose steps are called STEP/INNER. Nothing is sent or written: the value of a "
         "step that calls is null, unless --value STEP=FILE sets it. The exit "
         "status is 0 however the run ends",
         "  zplan flow simulate greeting.yaml --last name=5m --fail greet:2\n"
         "  echo '\"ann\"' | zplan flow simulate greeting.yaml --value name=-\n"
         "  zplan flow simulate greeting.yaml --limit jobs=2 --workers jobs=eu,us\n"
         "  zplan flow simulate night.json etl.json --cron '0 2 * * *' --runs 30\n"
         "  zplan flow simulate night.json etl.json --cron '0 2 * * *' --runs 30 \\\n"
         "    --last etl/load=30h --overlap-policy queue  # a run that takes too long\n"),
    ROW ("put", flow_put, 1, 2, "want a file, and perhaps the last version", "FILE [LAST]", STORED,
         0,
         "make it the next version, unless it is as the last one. It is checked "
         "with the targets and flows of the station. With LAST it is rejected unless "
         "that is the last version, 0: unless it is new",
         "  zplan flow put greeting.yaml\n", .connects_itself = true),
    ROW ("use", flow_use, 2, 2, "want a flow and a version", "NAME VERSION", STORED, 0,
         "use this version for new runs. With an older one it stays in use when "
         "others are put, until the last one is used again",
         "  zplan flow use greeting 1\n"),
    ROW ("get", flow_get, 1, 2, "want a flow, and perhaps a version", "NAME [VERSION]", STORED, 0,
         "print the version in use, or this one", "  zplan flow get greeting >greeting.json\n"),
    ROW ("list", flow_list, 0, 1, "want at most one name, which may end in *", "[NAME]", STORED, 0,
         "print which there are; a NAME may end in *", "  zplan flow list 'night*'\n"),
    ROW ("remove", flow_remove, 1, INT_MAX, "want at least one flow", "NAME...", STORED, 0,
         "remove it with all versions, if nothing refers to it: no plans, and no "
         "other flow",
         "  zplan flow remove greeting\n"),
    ROW ("export", flow_export, 0, INT_MAX, "want names of flows", "[NAME...]", STORED, 0,
         "print the version in use of all flows, or of these: a line each, JSON",
         "  zplan flow export >flows.ndjson\n"),
    ROW ("import", flow_import, 1, 1, "want one file; - is standard input", "FILE", STORED, 0,
         "put all definitions of a file that export wrote, or of a JSON array, those "
         "first that others call. `-` is standard input",
         "  zplan flow import flows.ndjson\n", .connects_itself = true),
    ROW ("start", flow_start, 1, 1, "want one flow", "NAME", RUNS, START,
         "run a flow once, at once: a plan whose target is the flow. `zplan add "
         "--flow NAME` with a time makes a schedule of it",
         "  zplan flow start greeting --wait\n"
         "  zplan flow start etl --param day=20260131 --param limit=5\n"
         "  zplan flow start purchase --input order.json --unique order/4711\n"
         "  echo '{\"order\": 4711}' | zplan flow start purchase --input -\n",
         .connects_itself = true),
    ROW ("backfill", flow_backfill, 1, 1, "want one flow", "NAME", RUNS, BACKFILL,
         "start a run for each time from one date to another, its batch: a plan NAME@BATCH. "
         "A time that has such a plan, or a run of this batch, however it ended, is not started "
         "again, unless --again wants it; a run that failed is for zplan flow retry. "
         "A run that the station no longer keeps is unknown, and is started again "
         "(zpland --flow-count and --flow-age); occurrences of a schedule have no batch. They run "
         "beside each other; "
         "zplan limit set station:NAME sets how many run at once",
         "  zplan flow backfill etl --from 2026-01-01 --to 2026-01-31\n"
         "  zplan flow backfill etl --from 2026-01-01 --to 2026-01-02 --cron '0 * * * *'\n"
         "  zplan flow backfill etl --from 2026-01-03 --to 2026-01-03 --again\n",
         .connects_itself = true),
    ROW ("runs", flow_runs, 0, 0, "want no arguments; --flow NAME has the runs of a flow", "", RUNS,
         LISTED, "print the newest runs", "  zplan flow runs --flow etl --state failed\n"),
    ROW ("show", flow_show, 1, 1, "want one run", "RUN", RUNS, SHOW | LAST,
         "print a run and the states of its steps, those of a sub-flow below the "
         "step that calls it",
         "  zplan flow show last\n"
         "  zplan flow show 2a --steps failed\n"
         "  zplan flow show last --flow etl --graph\n"
         "  zplan flow show 2a --json | jq .output\n"),
    ROW ("log", flow_log, 1, 1, "want one run", "RUN", RUNS, LOG | LAST,
         "print when each step came to what, the last 1000 lines",
         "  zplan flow log last --follow\n"),
    ROW ("why", flow_step_command, 1, 1, "want RUN/STEP", "RUN/STEP", RUNS, LAST,
         "print why a step does not start, why it failed, or what its plan waits for",
         "  zplan flow why last/load\n"),
    ROW ("done", flow_step_command, 1, 1, "want RUN/STEP", "RUN/STEP", PEOPLE, LAST,
         "resolve an undo that has failed permanently: the run goes on without it",
         "  zplan flow done 2a/hotel\n"),
    ROW ("reset", flow_step_command, 1, 1, "want RUN/STEP", "RUN/STEP", PEOPLE, LAST,
         "try such an undo again", "  zplan flow reset 2a/hotel\n"),
    ROW ("signal", flow_run_command, 2, 3, "want a run, a step, and perhaps JSON in quotes",
         "RUN STEP [JSON]", PEOPLE, LAST,
         "send a step that waits for a signal what it waits for; JSON becomes "
         "its value",
         "  zplan flow signal 2a approve\n"
         "  zplan flow signal 2a approve '{\"by\": \"ann\"}'\n"),
    ROW ("reject", flow_run_command, 2, 3, "want a run, a step, and perhaps a reason in quotes",
         "RUN STEP [REASON]", PEOPLE, LAST, "the same step fails, with this reason",
         "  zplan flow reject 2a approve 'too expensive'\n"),
    ROW ("skip", flow_run_command, 2, 2, "want a run and a step", "RUN STEP", PEOPLE, SKIP | LAST,
         "resolve a step that failed, is blocked or has not started: it counts as "
         "finished, and the run goes on",
         "  zplan flow skip 2a load --value '{\"rows\": 5}' --reason 'loaded by hand'\n"),
    ROW ("retry", flow_run_command, 1, INT_MAX, "want a run, and perhaps steps", "RUN [STEP...]",
         PEOPLE, RETRY | LAST,
         "run these steps and all behind them again; by default those that failed "
         "or were cancelled. What finished keeps its value",
         "  zplan flow retry last\n"
         "  zplan flow retry 2a load resize.3 --reason 'the disk was full'\n"
         "  zplan flow retry 2a --restart --fresh\n"
         "  zplan flow retry last --version 4  # with a step mended\n"),
    ROW ("suspend", flow_run_command, 1, 2, "want a run, and perhaps a reason in quotes",
         "RUN [REASON]", PEOPLE, LAST, "start no further steps; what is in flight goes on",
         "  zplan flow suspend 2a maintenance\n"),
    ROW ("resume", flow_run_command, 1, 1, "want one run", "RUN", PEOPLE, LAST,
         "go on with a run that was suspended", "  zplan flow resume 2a\n"),
    ROW ("cancel", flow_run_command, 1, 2, "want a run or RUN/STEP, and perhaps a reason in quotes",
         "RUN [REASON]", PEOPLE, CANCEL | LAST,
         "cancel what is in flight, then undo, then run the step of `finally`; "
         "of RUN/STEP the call of that step only",
         "  zplan flow cancel 2a 'no longer needed'\n"
         "  zplan flow cancel 2a/load\n"
         "  zplan flow cancel 2a --force\n"),
};

// -- as a whole

static const char intro[] =
    "Flows: steps that wait for each other. A definition is a file, JSON or YAML; `-` is\n"
    "standard input. It has a name and steps; a step has a target, or it waits, or it\n"
    "computes:\n"
    "  flow: greeting\n"
    "  steps:\n"
    "    name:  {target: jobs, command: name}\n"
    "    greet: {after: [name], target: jobs, command: echo,\n"
    "            args: [\"='hello ' + default(steps.name.value, 'you')\"],\n"
    "            retry: {strategy: fixed, interval: 10, max: 3}}\n\n"
    "`zplan flow WORD --help` has the help of one of these alone.\n";

enum { TEXT_COLUMN = 18, TEXT_WIDTH = 62 };

// Cut the first line off `text`, which is moved past it and the blank after it. Returns its size.
static int cut_line (const char **text)
{
    size_t size = strlen (*text), cut = size;
    const char *line = *text;
    if (size > TEXT_WIDTH)
        for (cut = TEXT_WIDTH; cut && line[cut] != ' ';)
            cut--;
    *text += cut + (line[cut] == ' ');
    return (int)cut;
}

// Write a subcommand and its text: "  put FILE [LAST]  make it the next version, ..."
static void write_entry (FILE *out, const struct flow_verb *entry)
{
    int width =
        fprintf (out, "  %s%s%s", entry->word.name, *entry->arguments ? " " : "", entry->arguments);
    const char *text = entry->text;
    if (width > TEXT_COLUMN - 2)
        width = fprintf (out, "\n") - 1;
    while (*text) {
        const char *line = text;
        int size = cut_line (&text);
        fprintf (out, "%*s%.*s\n", TEXT_COLUMN - width, "", size, line);
        width = 0;
    }
}

// Write the help of all subcommands.
static char *write_all (void)
{
    char *text = NULL;
    size_t size;
    FILE *out = text_open (&text, &size);
    fputs (intro, out);
    for (int section = 0; section < FLOW_SECTIONS; section++) {
        fprintf (out, "\n%s:\n", sections[section]);
        for (size_t i = 0; i < FLOW_WORDS; i++)
            if ((int)flow_rows[i].section == section)
                write_entry (out, &flow_rows[i]);
        fputc ('\n', out);
        for (size_t i = 0; i < FLOW_WORDS; i++)
            if ((int)flow_rows[i].section == section)
                fputs (flow_rows[i].examples, out);
    }
    fclose (out);
    return text;
}

static const char synopsis_of_all[] =
    "zplan flow check FILE... | graph FILE | simulate FILE... [OPTIONS]\n"
    " zplan flow put FILE | get NAME | list | use NAME VERSION | remove NAME\n"
    " zplan flow export | import FILE\n"
    " zplan flow start NAME [--param NAME=VALUE]... [--input FILE] [--wait]\n"
    " zplan flow backfill NAME --from DATE --to DATE [--cron EXPR] [--again]\n"
    " zplan flow runs | show RUN | log RUN | why RUN/STEP\n"
    " zplan flow signal | reject | skip RUN STEP\n"
    " zplan flow retry | suspend | resume | cancel RUN\n"
    " zplan flow done | reset RUN/STEP";

// Make the usage of one subcommand; `row` NULL: of all. Free its `about` and `synopsis`. It borrows
// `terms`, which gets the options of a simulated flow plan, and `options`.
static void make_usage (const struct flow_verb *row, struct option terms[FLOW_TERMS_MAX],
                        struct flow_options *options, struct usage *ret)
{
    char *about, *synopsis;
    if (!row) {
        about = write_all ();
        synopsis = memory_text (synopsis_of_all);
    } else if (asprintf (&about, "%c%s.\n\n%s", toupper ((unsigned char)row->text[0]),
                         row->text + 1, row->examples) < 0 ||
               asprintf (&synopsis, "zplan flow %s%s%s%s", row->word.name,
                         *row->arguments ? " " : "", row->arguments,
                         row->groups ? " [OPTIONS]" : "") < 0) {
        abort (); // only for lack of memory
    }
    *ret = (struct usage){.synopsis = synopsis,
                          .about = about,
                          .words_min = 1,
                          .words_max = INT_MAX,
                          .words = "a word, as put, start or show"};
    flow_option_groups (row ? row->groups : ALL, options, terms, ret->groups);
}

// -- the subcommand that was typed

// Find the subcommand among the arguments, before the options are read: each has its own options
// and help. NULL: there is none.
static const struct flow_verb *find_word (const struct cli *cli)
{
    for (int i = 1; !cli->describe && i < cli->argc; i++)
        for (int word = 0; word < FLOW_WORDS; word++)
            if (strcmp (cli->argv[i], flow_rows[word].word.name) == 0)
                return &flow_rows[word];
    return NULL;
}

int verb_flow (const struct cli *typed)
{
    bool is_help = !typed->describe && typed->argc > 1 && strcmp (typed->argv[1], "help") == 0;
    // `zplan flow help show` is `zplan flow show --help`.
    char *help_words[] = {"flow", "--help", is_help ? typed->argv[2] : NULL, NULL};
    struct cli help = *typed;
    const struct cli *cli = is_help ? &help : typed;
    help.argv = help_words;
    help.argc = help_words[2] ? 3 : 2;
    struct flow_options options = {.runs = 1};
    struct option terms[FLOW_TERMS_MAX];
    struct usage usage;
    struct subcommand words[FLOW_WORDS];
    int count, code;
    struct reason reason;
    make_usage (find_word (cli), terms, &options, &usage);
    bool read = options_read (&usage, cli, &count, &code);
    free ((char *)(uintptr_t)usage.about);
    free ((char *)(uintptr_t)usage.synopsis);
    if (!read)
        return code;
    for (size_t i = 0; i < FLOW_WORDS; i++)
        words[i] = flow_rows[i].word;
    int word = subcommand_read (words, FLOW_WORDS, cli, count, &reason);
    if (word >= 0 && options.ascii + options.dot + options.mermaid + options.svg > 1) {
        reason_set (&reason, "want one of --ascii, --dot, --mermaid and --svg");
        word = -1;
    }
    if (word < 0)
        return usage_error (cli->argv[0], &reason);
    options.words = cli->argv + 2;
    options.count = count - 1;
    options.form = options.dot       ? FLOW_DOT
                   : options.mermaid ? FLOW_MERMAID
                   : options.svg     ? FLOW_SVG
                                     : FLOW_LAYERS;
    bool connects = flow_rows[word].section != LOCAL && !flow_rows[word].connects_itself;
    if (connects && !(options.client = call_open (cli, &code)))
        return code;
    code = flow_rows[word].run (cli, &options);
    zplan_client_destroy (&options.client);
    return code;
}
