// Sends the `flow` command to the station, and reports its replies and errors.
#pragma once

#include "call.h"

// Send the command `flow` with these words, a NULL-terminated list. Returns the JSON of the reply,
// owned by the caller, and `ret_code` is EXIT_DONE. NULL: the error was printed on stderr, after
// `subject` if that is not NULL, each error of a definition on its own line, and `ret_code` is
// EXIT_REFUSED or EXIT_NO_ANSWER.
json_t *flow_send_command (const struct cli *cli, struct zplan_client *client,
                           const char *const *words, const char *subject, int *ret_code);

// As flow_send_command, without printing: the caller reports the verdict.
json_t *flow_send_command_quietly (const struct cli *cli, struct zplan_client *client,
                                   const char *const *words, struct verdict *ret);

// Print a failed verdict on stderr after `subject`, which may be NULL, with each error of `reply`,
// which may be NULL, on its own line; with --json on stdout too. Returns its exit code.
int flow_report_refusal (const struct cli *cli, const struct verdict *verdict, const char *subject,
                         const json_t *reply);

// Make this text the next version of its flow; errors name `subject` as its source. Returns an
// exit code.
int flow_store_text (const struct cli *cli, struct zplan_client *client, const char *text,
                     const char *last, const char *subject);

// Request a page of `word`, "list" or "runs", with this filter, and set the filter to the next
// page; `ret_more`: there is one. NULL: the error was printed.
json_t *flow_page (const struct cli *cli, struct zplan_client *client, const char *word,
                   json_t *filter, bool *ret_more, int *ret_code);

// Set the filter to the page after this one. False: it is the last.
bool flow_page_next (const json_t *page, json_t *filter);

// Call `take` for each flow of the station, in the order of names, page by page. `pattern` NULL:
// all. Returns an exit code.
int flow_for_each (const struct cli *cli, struct zplan_client *client, const char *pattern,
                   void (*take) (void *, const json_t *), void *owner);
