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

// Set the filter to the page after this one. False: it is the last.
bool flow_page_next (const json_t *page, json_t *filter);

// The flows ("list"), by name, or the runs ("runs"), the newest first, that a filter selects. They
// are requested page by page.
struct flow_items {
    const struct cli *cli;
    struct zplan_client *client;
    const char *word;
    json_t *filter; // of the next page
    json_t *page;
    size_t next; // the next item of `page`
    bool more;   // there may be a page after it
    int code;
};

// Takes ownership of the filter.
struct flow_items flow_items (const struct cli *cli, struct zplan_client *client, const char *word,
                              json_t *filter);

// The next item, valid until the next call. NULL: there is none, or a request failed, which was
// reported.
json_t *flow_items_next (struct flow_items *self);

// Free the items. Returns an exit code.
int flow_items_end (struct flow_items *self);
