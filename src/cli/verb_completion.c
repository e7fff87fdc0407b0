// zplan completion: scripts for shells, generated from the tables of verbs and options, and the
// data that these scripts request: the station's plans, targets and so on.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "flow_command.h"
#include "flow_options.h"
#include "print.h"
#include "select.h"
#include "verb_table.h"
#include "verb_workers.h"

static const char about[] =
    "Print a script that completes commands, options, their values, plan ids and the\n"
    "names of targets. The station is asked for plans and targets while you type,\n"
    "with a timeout of $ZPLAN_COMPLETION_TIMEOUT milliseconds, 500 by default. For\n"
    "every new shell:\n\n"
    "  echo 'source <(zplan completion bash)' >>~/.bashrc\n"
    "  echo 'source <(zplan completion zsh)' >>~/.zshrc # behind compinit\n\n"
    "The scripts themselves ask for\n\n"
    "  zplan completion plans       # an id, a tab, and the title; 200 at most\n"
    "  zplan completion stations    # a name, a tab, and the endpoint\n"
    "  zplan completion flows       # a name\n"
    "  zplan completion runs        # of flows: a number, a tab, flow and state\n"
    "  zplan completion steps last  # a name, a tab, its state\n"
    "  zplan completion workers     # of a target: a name, a tab, its state\n";

enum { PLANS_MAX = 200 };

// -- the tables

// Print the kind of an option's value, for the scripts: "=" and words, or "@" and a kind.
static void print_values (const struct option *row)
{
    static const char *const kinds[] = {
        [VALUES_STATIONS] = "@stations", [VALUES_FILES] = "@files", [VALUES_FOLDERS] = "@folders"};
    if (row->values)
        printf ("= %s", row->values);
    else
        fputs (kinds[row->offered] ? kinds[row->offered] : "@any", stdout);
}

// Skip the first word of a list separated by spaces.
static const char *skip_word (const char *words)
{
    words += strcspn (words, " ");
    return words + strspn (words, " ");
}

static void print_value_cases (const char *verb, const struct option_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct option *row = &group->rows[i];
        if (row->type == OPTION_FLAG || row->type == OPTION_FORM)
            continue;
        printf ("    %s:%s", verb, row->name);
        for (const char *alias = row->aliases; alias && *alias; alias = skip_word (alias))
            printf ("|%s:%.*s", verb, (int)strcspn (alias, " "), alias);
        printf (") echo '");
        print_values (row);
        puts ("' ;;");
    }
}

static void print_names (const struct option_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        printf ("%s ", group->rows[i].name);
}

static void print_verb_values (void *owner, const struct usage *usage)
{
    const struct verb *verb = owner;
    for (const struct option_group *group = usage->groups; group->rows; group++)
        print_value_cases (verb->name, group);
}

static void print_verb_options (void *owner, const struct usage *usage)
{
    const struct verb *verb = owner;
    printf ("    %s) echo '", verb->name);
    for (const struct option_group *group = usage->groups; group->rows; group++)
        print_names (group);
    puts ("' ;;");
}

// Make each verb describe its options to `take`, instead of running it.
static void describe_verbs (void (*take) (void *owner, const struct usage *usage))
{
    size_t count;
    const struct verb *verbs = verb_table (&count);
    for (size_t i = 0; i < count; i++) {
        struct describe describe = {take, (void *)(uintptr_t)&verbs[i]};
        struct cli cli = {.describe = &describe,
                          .verb = verbs[i].name,
                          .argc = 1,
                          .argv = (char *[]){(char *)(uintptr_t)verbs[i].name, NULL},
                          .timeout_ms = 1};
        verbs[i].run (&cli);
    }
}

static void print_verb_arguments (const struct verb *verb)
{
    static const char *const kinds[] = {[WORDS_NONE] = "",        [WORDS_PLANS] = "@plans",
                                        [WORDS_FILES] = "@files", [WORDS_FOLDERS] = "@folders",
                                        [WORDS_COMMAND] = "@any", [WORDS_WORKERS] = "@workers"};
    printf ("    %s) echo '", verb->name);
    if (verb->words == WORDS_LISTED)
        printf ("= %s", verb->listed);
    else
        fputs (kinds[verb->words], stdout);
    puts ("' ;;");
}

// Print the kinds of arguments of the subcommands of `flow`, by their names in the help.
static void print_flow_arguments (void)
{
    static const struct {
        const char *start, *kind;
        bool repeats;
    } kinds[] = {{"FILE", "@files", true}, {"NAME", "@flows", true}, {"RUN", "@runs", false}};
    for (size_t i = 0; i < FLOW_WORDS; i++) {
        const char *name = flow_rows[i].word.name, *words = flow_rows[i].arguments;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strncmp (words + strspn (words, "["), kinds[k].start, strlen (kinds[k].start)) == 0)
                printf ("    'flow %s'%s) echo %s ;;\n", name, kinds[k].repeats ? "*" : "",
                        kinds[k].kind);
        if (strstr (words, " STEP") || strstr (words, " [STEP"))
            printf ("    'flow %s +') echo @steps ;;\n", name);
    }
}

// Print the shell functions that both scripts share.
static void print_script_tables (void)
{
    size_t count;
    const struct verb *verbs = verb_table (&count);
    struct option_group shared = shared_options (NULL);
    printf ("_zplan_verbs='");
    for (size_t i = 0; i < count; i++)
        printf ("%s ", verbs[i].name);
    puts ("'\n\n# of a verb as it was typed: its name\n_zplan_name ()\n{\n    case $1 in");
    for (size_t i = 0; i < count; i++)
        for (const char *alias = verbs[i].aliases; alias && *alias; alias = skip_word (alias))
            printf ("    %.*s) echo %s ;;\n", (int)strcspn (alias, " "), alias, verbs[i].name);
    printf ("    *) echo \"$1\" ;;\n    esac\n}\n\n_zplan_shared='");
    print_names (&shared);
    puts ("--help'\n\n# of a verb: its options\n_zplan_options ()\n{\n    case $1 in");
    describe_verbs (print_verb_options);
    puts ("    *) echo '--version' ;;\n    esac\n}\n\n"
          "# of a verb and an option: what its value may be\n"
          "_zplan_values ()\n{\n    case $1:$2 in");
    describe_verbs (print_verb_values);
    print_value_cases ("*", &shared);
    puts ("    esac\n}\n\n# of a verb: what its own words are\n_zplan_words ()\n{\n    case $1 in");
    for (size_t i = 0; i < count; i++)
        print_verb_arguments (&verbs[i]);
    puts ("    esac\n}\n\n# of a verb and its words so far: what the next one may be\n"
          "_zplan_next ()\n{\n    case \"$1 $2${3:+ +}\" in\n"
          "    'target remove'*) echo @stations ;;");
    print_flow_arguments ();
    puts ("    *) [[ -n $2 && $(_zplan_words \"$1\") == '='* ]] || _zplan_words \"$1\" ;;\n"
          "    esac\n}\n");
}

// -- bash

// The line is split at blanks here: COMP_WORDS is split at colons too, as in tcp://.
static const char bash_script[] =
    "_zplan_ask () { \"${words[0]}\" \"${where[@]}\" --timeout "
    "\"${ZPLAN_COMPLETION_TIMEOUT:-500}\" completion \"$@\" 2>/dev/null |\n"
    "    cut -f 1; }\n\n"
    "# the lines that begin so; they hold what others wrote: never expanded, and quoted\n"
    "_zplan_offer ()\n{\n"
    "    local name text\n"
    "    while IFS= read -r name; do\n"
    "        printf -v text %q \"$name\"\n"
    "        [[ $name && ($name == \"$1\"* || $text == \"$1\"*) ]] && COMPREPLY+=(\"$text\")\n"
    "    done\n}\n\n"
    "# the replies of this kind that begin so\n"
    "_zplan_reply ()\n{\n"
    "    case $1 in\n"
    "    '='*) COMPREPLY=($(compgen -W \"${1#=}\" -- \"$2\")) ;;\n"
    "    @plans|@stations|@flows|@workers) _zplan_offer \"$2\" < <(_zplan_ask \"${1#@}\") ;;\n"
    "    @runs) _zplan_offer \"$2\" < <(echo last; _zplan_ask runs) ;;\n"
    "    @steps) _zplan_offer \"$2\" < <(_zplan_ask steps \"$second\") ;;\n"
    "    @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$2\") "
    ";;\n"
    "    @folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "
    "\"$2\") ;;\n"
    "    esac\n}\n\n"
    "_zplan ()\n{\n"
    "    local -a words where=()\n"
    "    local line=${COMP_LINE:0:COMP_POINT} current= verb= first= second= word kind= i\n"
    "    COMPREPLY=()\n"
    "    read -ra words <<<\"$line\"\n"
    "    if [[ $line != *[[:blank:]] ]]; then\n"
    "        current=${words[${#words[@]}-1]}\n"
    "        unset \"words[${#words[@]}-1]\"\n"
    "    fi\n"
    "    for ((i = 1; i < ${#words[@]}; i++)); do\n"
    "        word=${words[i]} kind=\n"
    "        case $word in\n"
    "        --) _zplan_reply @files \"$current\"; return ;;\n"
    "        --connect=*|--key=*|--server-key=*) where+=(\"$word\") ;;\n"
    "        -*) kind=$(_zplan_values \"$verb\" \"$word\") ;;\n"
    "        *) if [[ ! $verb ]]; then verb=$(_zplan_name \"$word\")\n"
    "           elif [[ ! $first ]]; then first=$word; else second=${second:-$word}; fi ;;\n"
    "        esac\n"
    "        [[ $kind ]] || continue\n"
    "        ((++i < ${#words[@]})) || break\n"
    "        case $word in --connect|--key|--server-key) where+=(\"$word\" \"${words[i]}\") ;; "
    "esac\n"
    "        kind=\n"
    "    done\n"
    "    if [[ $kind ]]; then\n"
    "        _zplan_reply \"$kind\" \"$current\"\n"
    "    elif [[ $current == --*=* ]]; then\n"
    "        _zplan_reply \"$(_zplan_values \"$verb\" \"${current%%=*}\")\" \"${current#*=}\"\n"
    "    elif [[ $current == -* ]]; then\n"
    "        _zplan_reply \"= $(_zplan_options \"$verb\") $_zplan_shared\" \"$current\"\n"
    "    elif [[ ! $verb ]]; then\n"
    "        _zplan_reply \"= $_zplan_verbs\" \"$current\"\n"
    "    else\n"
    "        _zplan_reply \"$(_zplan_next \"$verb\" \"$first\" \"$second\")\" \"$current\"\n"
    "    fi\n"
    "}\n\n"
    "complete -F _zplan zplan\n";

// -- zsh

static const char zsh_script[] =
    "_zplan_ask () { \"$words[1]\" $where --timeout \"${ZPLAN_COMPLETION_TIMEOUT:-500}\" "
    "completion \"$@\" 2>/dev/null }\n\n"
    "# the replies of this kind\n"
    "_zplan_reply ()\n{\n"
    "    local -a names texts\n"
    "    case $1 in\n"
    "    '='*) names=(${=1#=}); compadd -a names ;;\n"
    "    @flows|@plans|@runs|@stations|@steps|@workers)\n"
    "        texts=(${(f)\"$(_zplan_ask ${1#@} ${${(M)1:#@steps}:+$second})\"})\n"
    "        [[ $1 == @runs ]] && texts=(last $texts)\n"
    "        names=(${texts%%$'\\t'*})\n"
    "        texts=(${texts/$'\\t'/  })\n"
    "        compadd -l -d texts -a names ;;\n"
    "    @files) _files ;;\n"
    "    @folders) _files -/ ;;\n"
    "    esac\n}\n\n"
    "_zplan ()\n{\n"
    "    local -a where\n"
    "    local current=$words[CURRENT] verb= first= second= word kind= i\n"
    "    for ((i = 2; i < CURRENT; i++)); do\n"
    "        word=$words[i] kind=\n"
    "        case $word in\n"
    "        --) _files; return ;;\n"
    "        --connect=*|--key=*|--server-key=*) where+=(\"$word\") ;;\n"
    "        -*) kind=$(_zplan_values \"$verb\" \"$word\") ;;\n"
    "        *) if [[ -z $verb ]]; then verb=$(_zplan_name \"$word\")\n"
    "           elif [[ -z $first ]]; then first=$word; else second=${second:-$word}; fi ;;\n"
    "        esac\n"
    "        [[ -n $kind ]] || continue\n"
    "        ((++i < CURRENT)) || break\n"
    "        case $word in --connect|--key|--server-key) where+=(\"$word\" \"$words[i]\") ;; esac\n"
    "        kind=\n"
    "    done\n"
    "    if [[ -n $kind ]]; then\n"
    "        _zplan_reply \"$kind\"\n"
    "    elif [[ $current == --*=* ]]; then\n"
    "        compset -P '*='\n"
    "        _zplan_reply \"$(_zplan_values \"$verb\" \"${current%%=*}\")\"\n"
    "    elif [[ $current == -* ]]; then\n"
    "        _zplan_reply \"= $(_zplan_options \"$verb\") $_zplan_shared\"\n"
    "    elif [[ -z $verb ]]; then\n"
    "        _zplan_reply \"= $_zplan_verbs\"\n"
    "    else\n"
    "        _zplan_reply \"$(_zplan_next \"$verb\" \"$first\" \"$second\")\"\n"
    "    fi\n"
    "}\n\n"
    "if [[ ${funcstack[1]} == _zplan ]]; then _zplan \"$@\"; else compdef _zplan zplan; fi\n";

// -- the data that the scripts request

// Print a line: the completion, a tab, and its description.
static void print_completion (const struct cli *cli, const json_t *name, const json_t *text)
{
    if (cli->json) {
        print_json_new (json_pack ("{s:O*, s:O*}", "name", name, "text", text));
        return;
    }
    print_between ("", text_of (name), "\t");
    write_frame (stdout, text);
    putchar ('\n');
}

static bool handle_plan (void *owner, const json_t *plan)
{
    json_t *name = json_string (id_hex_text (json_object_get (plan, "plan_id")));
    const json_t *key = json_object_get (plan, "key");
    if (key)
        print_completion (owner, key, json_object_get (plan, "description"));
    print_completion (owner, name, json_object_get (plan, "description"));
    json_decref (name);
    return true;
}

static int print_plans (const struct cli *cli, struct zplan_client *client)
{
    struct selection selection = {0};
    struct verdict verdict =
        select_walk (cli, client, &selection,
                     &(struct plan_visitor){
                         .take = handle_plan, .owner = (void *)(uintptr_t)cli, .room = PLANS_MAX});
    return verdict_print (&verdict, NULL);
}

static int print_stations (const struct cli *cli, struct zplan_client *client)
{
    int code;
    const char *const request_words[] = {"station", "list", NULL};
    json_t *answer = call_command (cli, client, request_words, NULL, &code), *station;
    size_t i;
    json_array_foreach (json_object_get (answer, "stations"), i, station) print_completion (
        cli, json_object_get (station, "name"), json_object_get (station, "endpoint"));
    json_decref (answer);
    return code;
}

static int print_workers (const struct cli *cli, struct zplan_client *client)
{
    int code;
    json_t *list = workers_request (cli, client, &code), *worker;
    size_t i;
    json_array_foreach (list, i, worker)
    {
        json_t *state = json_string (field_is_true (worker, "draining") ? "draining" : "serving");
        print_completion (cli, json_object_get (worker, "name"), state);
        json_decref (state);
    }
    json_decref (list);
    return code;
}

static const struct completion_kind {
    const char *name;
    connected_fn *print;       // prints the data; NULL: the row is a script
    const char *head, *script; // `head` precedes the tables, `script` follows them
} kinds[] = {
    {"bash", NULL, "# bash completion of zplan: source <(zplan completion bash)", bash_script},
    {"zsh", NULL, "#compdef zplan\n# zsh completion of zplan: source <(zplan completion zsh)",
     zsh_script},
    {"plans", print_plans, NULL, NULL},
    {"stations", print_stations, NULL, NULL},
    {"flows", flow_print_names, NULL, NULL},
    {"workers", print_workers, NULL, NULL},
    {"runs", flow_print_runs, NULL, NULL},
    {"steps", flow_print_steps, NULL, NULL}};

int verb_completion (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan completion bash | zsh",
        .about = about,
        .words_min = 1,
        .words_max = 2,
        .words = "bash or zsh",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    reason_set (&reason, "want bash or zsh, got %s", quoted (span_text (cli->argv[1])));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp (kinds[i].name, cli->argv[1]) != 0)
            continue;
        if ((kinds[i].print == flow_print_steps) != (count == 2)) {
            reason_set (&reason, "%s: %s", cli->argv[1],
                        count == 2 ? "unexpected argument" : "want a run");
            break;
        }
        if (kinds[i].print)
            return call_connected (cli, kinds[i].print);
        if (!cli->json) {
            puts (kinds[i].head);
            print_script_tables ();
            fputs (kinds[i].script, stdout);
            return EXIT_DONE;
        }
        reason_set (&reason, "a script is no JSON");
    }
    return usage_error (cli->argv[0], &reason);
}
