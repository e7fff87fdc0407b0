// The verbs as a table: the help, the completion and the finding of a verb go by it.
#pragma once

#include <stddef.h>

#include "options.h"

// What a verb's own words are, for the completion.
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
    const char *aliases; // further names, separated by spaces; not in the help; NULL: none
};

const struct verb *verb_table (size_t *ret_count);

// The verb of this name, or that has it as an alias; or NULL.
const struct verb *verb_named (const char *name);

// The options that every verb takes, which fill `cli`.
struct option_group shared_options (struct cli *cli);

// Print the verbs, for --help without one.
int print_verbs (void);
