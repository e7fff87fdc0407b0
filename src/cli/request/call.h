// Sends a verb's request to the station, and reports the result to the user.
#pragma once

#include <jansson.h>

#include "curve.h"
#include "reason.h"
#include "span.h"
#include "options.h"
#include "verbs.h"
#include "zplan.h"

// --key and --server-key: the keys that the verbs use if the station requires CURVE.
struct keyfile {
    bool given; // false: connect without CURVE
    struct curve_cert cert;
    struct zplan_curve curve; // borrows from `cert` and the command line
};

// Read the key that the command line or the environment names. 0, or -1: reported on stderr, and
// the verb ends with `ret_exit`. `self` must not be moved afterwards: it points into itself.
int keyfile_read (struct keyfile *self, const struct cli *cli, int *ret_exit);

// A hint to append to "no answer", as a rejected key also leads to no answer. "" without a key.
const char *keyfile_hint (const struct cli *cli);

// Open the client; `ret_exit` is EXIT_DONE. NULL: reported on stderr, and the verb ends with
// `ret_exit`.
struct zplan_client *call_open (const struct cli *cli, int *ret_exit);

// Report why libzplan did not open a socket: invalid endpoints, or errno. Returns an exit code.
int call_refuse_endpoint (const struct cli *cli, const char *option, const char *text);

// Why libzplan rejects these endpoints, or their combination with this --server-key.
void call_endpoint_reason (const char *option, const char *text, struct reason *reason);

enum { VERDICT_WORDS_MAX = 512 };

// The result of a request.
struct verdict {
    int code;        // EXIT_DONE, EXIT_REFUSED or EXIT_NO_ANSWER
    uint8_t status;  // the wire's status if the station rejected the request; else 0
    bool unreadable; // the station's answer is not what the protocol says
    size_t size;
    uint8_t words[VERDICT_WORDS_MAX]; // the error: bytes, as the station sent them
};

// The error text for people: without the leading wire status, and with the command line's word for
// the frame or field that the station names. Valid until the next call, and as long as the verdict.
struct span verdict_text (const struct verdict *self);

// Convert the result of a call to a verdict: `outcome` is an enum zplan_error; `reply` is read only
// after ZPLAN_OK.
struct verdict call_verdict (const struct cli *cli, int outcome, const struct zplan_reply *reply);

// Whether the error is not specific to this request, so that others would fail as well: Redis is
// away, or the station's quota of plans is exceeded.
bool verdict_is_common (const struct verdict *self);

// Make the verdict for an error that the client found: rejected, with this reason.
struct verdict verdict_refused (const char *words);

// Report the error on stderr, after `subject` if that is not NULL. Returns the exit code.
int verdict_print (const struct verdict *self, const char *subject);

// Add an error to the object that `--json` prints: the status as `code`, the text as `detail`.
void refusal_add_to (json_t *answer, const struct cli *cli, const struct verdict *verdict);

// Report the result of a call on stderr: call_verdict and verdict_print together. Returns the exit
// code.
int call_report (const struct cli *cli, int outcome, const struct zplan_reply *reply,
                 const char *subject);

// Find the first frame of this type; an empty span: there is none.
struct span call_frame (const struct zplan_reply *reply, uint8_t type);

// Parse the JSON object of a reply; NULL: there is none, which is reported on stderr.
json_t *call_json (const struct zplan_reply *reply);

// Convert a plan's id as the user typed it to the wire's form. 0, or -1 with a reason.
enum { PLAN_ID_SIZE = 17 };
int call_plan_id (const char *text, char out[PLAN_ID_SIZE], struct reason *reason);

// The number of words before the NULL.
size_t words_count (const char *const *words);

// Send a command, a NULL-terminated list of words. Returns the JSON of the reply, owned by the
// caller, and `ret_code` is EXIT_DONE. NULL: reported on stderr, after `subject` if that is not
// NULL, and `ret_code` is EXIT_REFUSED or EXIT_NO_ANSWER. If `subject` is words[1], it is taken to
// be a plan.
json_t *call_command (const struct cli *cli, struct zplan_client *client, const char *const *words,
                      const char *subject, int *ret_code);

// Send a command as call_command does, and print the reply: with --json unchanged, else by `show`.
// Returns an exit code.
int call_print (const struct cli *cli, struct zplan_client *client, const char *const *words,
                const char *subject, void (*show) (const char *subject, const json_t *answer));

// As call_command, without printing. NULL: the verdict has the error.
json_t *call_command_quietly (const struct cli *cli, struct zplan_client *client,
                              const char *const *words, struct verdict *ret);

// As call_command_quietly, with a filter as the argument; the filter may be NULL. Takes ownership
// of it.
json_t *call_with_filter (const struct cli *cli, struct zplan_client *client, const char *command,
                          json_t *filter, struct verdict *ret);

// How to report a change of an object of the station, such as a limit.
struct change_report {
    struct span name;
    const char *field;        // the JSON member that has the name
    const char *label, *past; // texts before and after the name: "limit of ", " removed"
};

// Send the NULL-terminated words, and report the change, in JSON with words[1] as `done`; errors on
// stderr, after `subject`. Returns an exit code.
int call_change (const struct cli *cli, struct zplan_client *client, const char *const *words,
                 const struct change_report *change, const char *subject);

// Ask about one argument of a verb. Returns an exit code.
typedef int argument_fn (const struct cli *cli, struct zplan_client *client, const char *argument);

// Call `ask` for each argument. Stops at EXIT_NO_ANSWER. Returns the last exit code that was not
// EXIT_DONE.
int call_for_each_argument (const struct cli *cli, struct zplan_client *client,
                            char *const *arguments, int count, argument_fn *ask);

// Run a verb that takes ids or names of plans (plan_ref.h) and no options: call `ask` for each.
// Stops at EXIT_NO_ANSWER. Returns the last exit code that was not EXIT_DONE.
int call_for_each_plan (const struct cli *cli, const struct usage *usage, argument_fn *ask);

// Connect, and call `run`. Both return an exit code.
typedef int connected_fn (const struct cli *cli, struct zplan_client *client);
int call_connected (const struct cli *cli, connected_fn *run);

// Run a verb without options and arguments: handle its usage, then call_connected.
int verb_run (const struct cli *cli, const char *synopsis, const char *about, connected_fn *run);

// The state of a verb with subcommands.
struct subcommand_call {
    const struct cli *cli;
    struct zplan_client *client;
    const void *options; // the values of its options
    char **args;         // the arguments after the subcommand
    int count;
};

// Either `run` or `run_each` is set; both return an exit code.
struct subcommand_row {
    struct subcommand word;
    int (*run) (const struct subcommand_call *self);
    argument_fn *run_each; // called by call_for_each_argument
};

// Read the options and the subcommand, connect, and run it. `count` is at most SUBCOMMAND_ROWS_MAX.
// Returns an exit code.
enum { SUBCOMMAND_ROWS_MAX = 8 };
int subcommand_run (const struct cli *cli, const struct usage *usage,
                    const struct subcommand_row *rows, size_t count, const void *options);
