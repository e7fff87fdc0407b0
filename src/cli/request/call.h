// One question of a verb to the station, and what becomes of it for the user.
#pragma once

#include <jansson.h>

#include "curve.h"
#include "reason.h"
#include "span.h"
#include "options.h"
#include "verbs.h"
#include "zplan.h"

// --key and --server-key: what the verbs connect with when the station wants keys.
struct keyfile {
    bool given; // false: connect without CURVE
    struct curve_cert cert;
    struct zplan_curve curve; // borrows from `cert` and the command line
};

// Read the key that the command line or the environment names. 0, or -1: reported on stderr, and
// the verb ends with `ret_exit`. Must not be moved afterwards: it points into itself.
int keyfile_read (struct keyfile *self, const struct cli *cli, int *ret_exit);

// What to add to "no answer": a refused key looks like that. "" without a key.
const char *keyfile_hint (const struct cli *cli);

// Open the client; `ret_exit` is EXIT_DONE. NULL: reported on stderr, and the verb ends with
// `ret_exit`.
struct zplan_client *call_open (const struct cli *cli, int *ret_exit);

// Report why libzplan did not open a socket there: its endpoints, or errno. Returns an exit code.
int call_refuse_endpoint (const struct cli *cli, const char *option, const char *text);

// Why libzplan takes no such endpoints, or not with this --server-key.
void call_endpoint_reason (const char *option, const char *text, struct reason *reason);

enum { VERDICT_WORDS_MAX = 512 };

// How a question ended.
struct verdict {
    int code;       // EXIT_DONE, EXIT_REFUSED or EXIT_NO_ANSWER
    uint8_t status; // of the wire, where the station refused; else 0
    size_t size;
    uint8_t words[VERDICT_WORDS_MAX]; // why it is not done: bytes, as the station sent them
};

// Its words for people: without the status of the wire in front, and with their word for the frame
// or field that the station names.
struct span verdict_text (const struct verdict *self, char out[VERDICT_WORDS_MAX]);

// Judge a call: `outcome` is an enum zplan_error; `reply` is read only after ZPLAN_OK.
struct verdict call_verdict (const struct cli *cli, int outcome, const struct zplan_reply *reply);

// Whether it is no matter of this request: Redis is away, or the station is full of plans. Others
// are refused for the same reason.
bool verdict_is_common (const struct verdict *self);

// A verdict of our own: refused, for this reason.
struct verdict verdict_refused (const char *words);

// Report on stderr why it failed, after `subject` if that is not NULL. Returns the exit code.
int verdict_print (const struct verdict *self, const char *subject);

// A refusal, in what `--json` prints: the status as `code` and the text as `detail`.
void refusal_into (json_t *answer, const struct cli *cli, const struct verdict *verdict);

// Both together.
int call_judge (const struct cli *cli, int outcome, const struct zplan_reply *reply,
                const char *subject);

// The first frame of this type, or an empty span.
struct span call_frame (const struct zplan_reply *reply, uint8_t type);

// The JSON object of a reply; NULL: there is none, reported on stderr.
json_t *call_json (const struct zplan_reply *reply);

// A plan's id as the user gave it, in the wire's form. 0, or -1 with a reason.
enum { PLAN_ID_SIZE = 17 };
int call_plan_id (const char *text, char out[PLAN_ID_SIZE], struct reason *reason);

// How many words there are before the NULL.
size_t words_count (const char *const *words);

// Send words to the station, which end with a NULL, for the JSON that it answers. NULL: reported on
// stderr, after `subject` if that is not NULL, and `ret_code` is EXIT_REFUSED or EXIT_NO_ANSWER;
// else the JSON, owned by the caller, and `ret_code` is EXIT_DONE. A `subject` that is words[1] is
// a plan.
json_t *call_command (const struct cli *cli, struct zplan_client *client, const char *const *words,
                      const char *subject, int *ret_code);

// The same, and print what it answers: with --json as it is, else by `show`. Returns an exit code.
int call_print (const struct cli *cli, struct zplan_client *client, const char *const *words,
                const char *subject, void (*show) (const char *subject, const json_t *answer));

// The same as call_command, and nothing is printed. NULL: the verdict says why.
json_t *call_quietly (const struct cli *cli, struct zplan_client *client, const char *const *words,
                      struct verdict *ret);

// The same with a filter, which is taken and may be NULL.
json_t *call_filtered (const struct cli *cli, struct zplan_client *client, const char *command,
                       json_t *filter, struct verdict *ret);

// A change of something that the station keeps, as it is reported.
struct change_report {
    struct span name;
    const char *field;        // of JSON, that has the name
    const char *label, *past; // "limit of ", " removed": around the name
    const char *done;         // in JSON
};

// Send the words, which end with a NULL, and report what became of the change; a refusal on stderr
// after `subject`. Returns an exit code.
int call_change (const struct cli *cli, struct zplan_client *client, const char *const *words,
                 const struct change_report *change, const char *subject);

// Call `ask` for each word. Stops at EXIT_NO_ANSWER. Returns the last exit code that was not
// EXIT_DONE.
int call_each (const struct cli *cli, struct zplan_client *client, char *const *words, int count,
               int (*ask) (const struct cli *cli, struct zplan_client *client, const char *word));

// Run a verb that takes ids or names of plans (plan_ref.h) and no options: call `ask` for each.
// Stops at EXIT_NO_ANSWER. Returns the last exit code that was not EXIT_DONE.
int call_each_plan (const struct cli *cli, const struct usage *usage,
                    int (*ask) (const struct cli *cli, struct zplan_client *client,
                                const char *id));

// What a verb that takes no options and no arguments begins with: its usage, and call_open.
struct zplan_client *call_begin (const struct cli *cli, const char *synopsis, const char *about,
                                 int *ret_exit);

// A verb that has a second word, at work.
struct worded {
    const struct cli *cli;
    struct zplan_client *client;
    const void *wish; // what its options say
    char **args;      // after the word
    int count;
};

struct worded_row {
    struct subcommand word;
    int (*run) (const struct worded *self); // returns an exit code
};

// Read the options and the word, at most WORDED_ROWS_MAX, connect, and run it. Returns an exit
// code.
enum { WORDED_ROWS_MAX = 8 };
int worded_run (const struct cli *cli, const struct usage *usage, const struct worded_row *rows,
                size_t count, const void *wish);
