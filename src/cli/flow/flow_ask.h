// One question about flows to the station, and what it says of definitions.
#pragma once

#include "call.h"

// Send the command `flow` with these words, which end with a NULL, for the JSON of the reply. NULL:
// printed on stderr, after `subject` if that is not NULL, each error of a definition on a line of
// its own, and `ret_code` is EXIT_REFUSED or EXIT_NO_ANSWER; else the JSON, to be given back, and
// `ret_code` is EXIT_DONE.
json_t *flow_ask (const struct cli *cli, struct zplan_client *client, const char *const *words,
                  const char *subject, int *ret_code);

// The same, and nothing is printed: the caller reports the verdict.
json_t *flow_ask_quietly (const struct cli *cli, struct zplan_client *client,
                          const char *const *words, struct verdict *ret);

// Print a verdict that is not good: on stderr after `subject`, which may be NULL, each error of
// the reply on a line of its own, NULL: it has none; with --json on stdout too. Returns its exit
// code.
int flow_refuse (const struct cli *cli, const struct verdict *verdict, const char *subject,
                 const json_t *reply);

// Make this text the next version of its flow; errors name `subject` as its source. Returns an
// exit code.
int flow_put_text (const struct cli *cli, struct zplan_client *client, const char *text,
                   const char *last, const char *subject);

// A page of `word`, "list" or "runs", by this filter, which then asks for the next one; `ret_more`:
// there is one. NULL: the error was printed.
json_t *flow_page (const struct cli *cli, struct zplan_client *client, const char *word,
                   json_t *filter, bool *ret_more, int *ret_code);

// The same of a page that was read: the filter asks for the next one. False: it is the last.
bool flow_page_next (const json_t *page, json_t *filter);

// Each flow that the station has, page by page, in the order of their names. `pattern` NULL: all.
// Returns an exit code.
int flow_each (const struct cli *cli, const char *pattern, void (*take) (void *, const json_t *),
               void *owner);
