// The table of the verbs, for the help, the completion and the lookup of a verb.
#pragma once

#include <stddef.h>

#include "options.h"

// What the arguments of a verb are, for the completion.
enum verb_words {
    WORDS_NONE,
    WORDS_PLANS,
    WORDS_LISTED,
    WORDS_FILES,
    WORDS_FOLDERS,
    WORDS_COMMAND,
    WORDS_WORKERS
};

struct verb {
    const char *name;
    verb_fn *run;
    const char *help; // in the list of verbs
    enum verb_words words;
    const char *listed;  // WORDS_LISTED: the first word is one of these, separated by spaces
    const char *aliases; // further names, separated by spaces; NULL: none
};

const struct verb *verb_table (size_t *ret_count);

// Find the verb with this name or alias; NULL: there is none.
const struct verb *verb_named (const char *name);

// The options of every verb, which fill `cli`.
struct option_group shared_options (struct cli *cli);

// Print the list of verbs, for --help without a verb.
int print_verbs (void);
