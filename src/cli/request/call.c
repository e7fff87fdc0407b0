#include "call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "endpoints.h"
#include "ident.h"
#include "json.h"
#include "status_names.h"
#include "options.h"
#include "outcomes.h"
#include "plan_ref.h"
#include "print.h"

int keyfile_read (struct keyfile *self, const struct cli *cli, int *ret_exit)
{
    struct reason reason;
    *self = (struct keyfile){.curve = {.server_key = cli->server_key,
                                       .public_key = self->cert.keys.public_key,
                                       .secret_key = self->cert.keys.secret_key}};
    if (!cli->key && !cli->server_key)
        return 0;
    if (!cli->key || !cli->server_key) {
        reason_set (&reason, "--key FILE and --server-key KEY go together ($ZPLAN_KEY, "
                             "$ZPLAN_SERVER_KEY)");
    } else if (!server_keys_valid (cli->server_key, 0)) {
        reason_set (&reason, "--server-key: want 40 characters of Z85, the station's public key");
    } else {
        self->given = curve_cert_load (cli->key, CURVE_SECRET, &self->cert, &reason) == 0;
        if (!self->given)
            *ret_exit = complain ("--key", span_text (reason.text));
        return self->given ? 0 : -1;
    }
    *ret_exit = usage_error (cli->argv[0], &reason);
    return -1;
}

const char *keyfile_hint (const struct cli *cli)
{
    return cli->key ? " (with --key: is the key in the station's allow-list, and is --server-key "
                      "the station's?)"
                    : "";
}

enum { CALL_WORDS_MAX = 8 }; // words of a command about a plan

_Static_assert((int)PLAN_ID_SIZE == (int)IDENT_SIZE, "one size under two names");

void call_endpoint_reason (const char *option, const char *text, struct reason *reason)
{
    struct endpoints endpoints;
    struct reason why;
    if (endpoints_read (&endpoints, text, &why))
        reason_set (reason,
                    "%s: want tcp://HOST:PORT or ipc://PATH, several with commas between, got %s",
                    option, quoted (span_text (text)));
    else
        reason_set (reason, "--server-key: want one key, or one for each endpoint of %s", option);
    endpoints_clear (&endpoints);
}

int call_refuse_endpoint (const struct cli *cli, const char *option, const char *text)
{
    struct reason reason;
    if (errno != EINVAL)
        return complain (text, span_text (strerror (errno)));
    call_endpoint_reason (option, text, &reason);
    return usage_error (cli->argv[0], &reason);
}

struct zplan_client *call_open (const struct cli *cli, int *ret_exit)
{
    struct keyfile key;
    if (keyfile_read (&key, cli, ret_exit))
        return NULL;
    struct zplan_client *client = key.given ? zplan_client_new_curve (cli->connect, &key.curve)
                                            : zplan_client_new (cli->connect);
    if (client) {
        zplan_client_set_timeout (client, cli->timeout_ms);
        *ret_exit = EXIT_DONE;
        return client;
    }
    *ret_exit = call_refuse_endpoint (cli, "--connect", cli->connect);
    return NULL;
}

struct span call_frame (const struct zplan_reply *reply, uint8_t type)
{
    size_t size;
    const void *data = zplan_reply_frame (reply, type, &size);
    return data ? span_of (data, size) : (struct span){0};
}

static struct verdict verdict_of (int code, struct span words)
{
    struct verdict self = {.code = code, .size = words.size};
    if (self.size > sizeof self.words)
        self.size = sizeof self.words;
    if (self.size)
        memcpy (self.words, words.data, self.size);
    return self;
}

struct verdict verdict_refused (const char *words)
{
    return verdict_of (EXIT_REFUSED, span_text (words));
}

struct verdict call_verdict (const struct cli *cli, int outcome, const struct zplan_reply *reply)
{
    if (outcome == ZPLAN_ERROR_NO_ANSWER) {
        char text[VERDICT_WORDS_MAX];
        // With several endpoints the connection may have been lost before the timeout.
        snprintf (text, sizeof text, "no answer from %s within %" PRId64 " ms%s%s", cli->connect,
                  cli->timeout_ms,
                  strchr (cli->connect, ',')
                      ? ", or the connection was lost: whether it was done is not known"
                      : "",
                  keyfile_hint (cli));
        return verdict_of (EXIT_NO_ANSWER, span_text (text));
    }
    if (outcome != ZPLAN_OK)
        return verdict_refused ("the request cannot be sent");
    if (reply->status < ZERO_STATUS_ERROR_FLAG)
        return (struct verdict){.code = EXIT_DONE};
    struct span words = call_frame (reply, ZERO_FRAME_STATUS);
    struct verdict verdict =
        verdict_of (EXIT_REFUSED, words.size ? words : span_text (status_word (reply->status)));
    verdict.status = reply->status;
    return verdict;
}

// The status whose wire word begins the text; 0: none.
static uint8_t leading_status (struct span text)
{
    for (int status = ZERO_STATUS_ERROR_FLAG; status <= UINT8_MAX; status++) {
        const char *word = status_word ((uint8_t)status);
        size_t size = strlen (word);
        if (bytes_begin (text, word) &&
            (text.size == size ||
             (text.size > size + 2 && memcmp (text.data + size, ": ", 2) == 0)))
            return (uint8_t)status;
    }
    return 0;
}

struct span verdict_text (const struct verdict *self)
{
    static char out[VERDICT_WORDS_MAX];
    // Starts of the station's error texts, and their replacements for people.
    static const struct {
        const char *wire, *people;
    } rows[] = {
        {"STATION_ID: no target ", "no target "},
        {"station: no target ", "no target "},
        {"on_failure: station: no target ", "on failure: no target "},
        {"STATION_ID: ", "target: "},
        {"station: ", "target: "},
        {"flow: ", ""},
        {"COMMAND: ", "command: "},
        {"plan_time: is past", "the time is past"},
        {"end_time: is past", "the end is past"},
    };
    struct span text = span_of (self->words, self->size);
    uint8_t status = leading_status (text);
    size_t size = status ? strlen (status_word (status)) : 0;
    if (!status)
        return text;
    if (text.size == size) {
        json_t *code = json_integer (self->status ? self->status : status);
        text = span_text (outcome_text (code));
        json_decref (code);
        return text;
    }
    text = span_of (text.data + size + 2, text.size - size - 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t known = strlen (rows[i].wire);
        if (!bytes_begin (text, rows[i].wire))
            continue;
        int written = snprintf (out, VERDICT_WORDS_MAX, "%s%.*s", rows[i].people,
                                (int)(text.size - known), (const char *)text.data + known);
        return span_of (out, (size_t)written);
    }
    return text;
}

bool verdict_is_common (const struct verdict *self)
{
    // The second text comes from stations of earlier versions.
    struct span words = span_of (self->words, self->size);
    bool is_full =
        bytes_begin (words, "-busy: quota exceeded") || bytes_begin (words, "-busy: max_plans");
    return self->status == ZERO_STATUS_NET_ERROR_ID ||
           (self->status == ZERO_STATUS_BUSY_ID && is_full);
}

int verdict_print (const struct verdict *self, const char *subject)
{
    // A missing answer has nothing to do with the subject.
    if (self->code != EXIT_DONE)
        complain (self->code == EXIT_NO_ANSWER ? NULL : subject, verdict_text (self));
    return self->code;
}

int call_report (const struct cli *cli, int outcome, const struct zplan_reply *reply,
                 const char *subject)
{
    struct verdict verdict = call_verdict (cli, outcome, reply);
    return verdict_print (&verdict, subject);
}

void refusal_add_to (json_t *answer, const struct cli *cli, const struct verdict *verdict)
{
    char code[JSON_CODE_SIZE];
    bool wire = strcmp (cli->json, "wire") == 0;
    struct span text = wire ? span_of (verdict->words, verdict->size) : verdict_text (verdict);
    json_object_set_new (answer, "refused", json_from_frame (text));
    if (verdict->status && !wire)
        json_object_set_new (answer, "code",
                             json_string (json_status_code (verdict->status, code)));
}

json_t *call_json (const struct zplan_reply *reply)
{
    struct reason reason;
    json_t *object = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
    if (!object)
        complain ("the station's answer", span_text (reason.text));
    return object;
}

int call_plan_id (const char *text, char out[PLAN_ID_SIZE], struct reason *reason)
{
    uint64_t id;
    if (ident_parse (span_text (text), &id)) {
        ident_text (id, out);
        return 0;
    }
    return reason_set (reason, "%s: want a plan id, 1 to 16 hex digits, 1..7fffffffffffffff",
                       quoted (span_text (text)));
}

size_t words_count (const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

json_t *call_command (const struct cli *cli, struct zplan_client *client, const char *const *words,
                      const char *subject, int *ret_code)
{
    struct verdict verdict;
    json_t *answer = call_command_quietly (cli, client, words, &verdict);
    size_t count = words_count (words);
    char name[PLAN_REF_SIZE];
    // No plan has this id: try it as a name.
    if (verdict.status == ZERO_STATUS_NOT_FIND_ID && subject && subject == words[1] &&
        count < CALL_WORDS_MAX && plan_ref_as_name (cli, subject, name)) {
        const char *again[CALL_WORDS_MAX] = {0};
        memcpy (again, words, count * sizeof *again);
        again[1] = subject = name;
        answer = call_command_quietly (cli, client, again, &verdict);
    }
    *ret_code =
        verdict_print (&verdict, subject && !verdict.unreadable ? plan_ref_shown (subject) : NULL);
    return answer;
}

int call_print (const struct cli *cli, struct zplan_client *client, const char *const *words,
                const char *subject, void (*show) (const char *subject, const json_t *answer))
{
    int code;
    json_t *answer = call_command (cli, client, words, subject, &code);
    if (answer && cli->json)
        print_answer (cli, JSON_ANSWER, answer);
    else if (answer)
        show (subject, answer);
    json_decref (answer);
    return code;
}

json_t *call_command_quietly (const struct cli *cli, struct zplan_client *client,
                              const char *const *words, struct verdict *ret)
{
    struct zplan_reply reply;
    struct reason why, reason;
    int outcome =
        zplan_client_manage (client, words[0], words + 1, words_count (words + 1), &reply);
    *ret = call_verdict (cli, outcome, &reply);
    if (ret->code != EXIT_DONE)
        return NULL;
    json_t *answer = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &why);
    if (!answer) {
        reason_set (&reason, "the station's answer: %s", why.text);
        *ret = verdict_refused (reason.text);
        ret->unreadable = true;
    }
    return answer;
}

json_t *call_with_filter (const struct cli *cli, struct zplan_client *client, const char *command,
                          json_t *filter, struct verdict *ret)
{
    char *text = filter ? json_write (filter) : NULL;
    json_t *answer = call_command_quietly (cli, client, (const char *[]){command, text, NULL}, ret);
    free (text);
    json_decref (filter);
    return answer;
}

int call_change (const struct cli *cli, struct zplan_client *client, const char *const *words,
                 const struct change_report *change, const char *subject)
{
    struct zplan_reply reply;
    int outcome =
        zplan_client_manage (client, words[0], words + 1, words_count (words + 1), &reply);
    struct verdict verdict = call_verdict (cli, outcome, &reply);
    bool done = verdict.code == EXIT_DONE;
    if (cli->json && verdict.code != EXIT_NO_ANSWER) {
        json_t *answer = json_object ();
        json_object_set_new (answer, change->field, json_from_frame (change->name));
        if (done)
            json_object_set_new (answer, "done", json_string (words[1]));
        else
            refusal_add_to (answer, cli, &verdict);
        print_answer_new (cli, JSON_ANSWER, answer);
    } else if (done) {
        fputs (change->label, stdout);
        print_bytes (change->name);
        puts (change->past);
    }
    return verdict_print (&verdict, subject);
}

int call_for_each_argument (const struct cli *cli, struct zplan_client *client,
                            char *const *arguments, int count, argument_fn *ask)
{
    int code = EXIT_DONE;
    for (int i = 0; i < count && code != EXIT_NO_ANSWER; i++) {
        int result = ask (cli, client, arguments[i]);
        code = result == EXIT_DONE ? code : result;
    }
    return code;
}

int call_connected (const struct cli *cli, connected_fn *run)
{
    int code;
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = run (cli, client);
    zplan_client_destroy (&client);
    return code;
}

int verb_run (const struct cli *cli, const char *synopsis, const char *about, connected_fn *run)
{
    const struct usage usage = {.synopsis = synopsis, .about = about};
    int count, code;
    return options_read (&usage, cli, &count, &code) ? call_connected (cli, run) : code;
}

int call_for_each_plan (const struct cli *cli, const struct usage *usage, argument_fn *ask)
{
    int count, code;
    if (!options_read (usage, cli, &count, &code))
        return code;
    struct reason reason;
    char id[PLAN_REF_SIZE];
    for (int i = 0; i < count; i++)
        if (plan_ref_read (cli->argv[1 + i], id, &reason))
            return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (!client)
        return code;
    code = EXIT_DONE;
    for (int i = 0; i < count && code != EXIT_NO_ANSWER; i++) {
        plan_ref_read (cli->argv[1 + i], id, &reason);
        int result = ask (cli, client, id);
        code = result == EXIT_DONE ? code : result;
    }
    zplan_client_destroy (&client);
    return code;
}

int subcommand_run (const struct cli *cli, const struct usage *usage,
                    const struct subcommand_row *rows, size_t count, const void *options)
{
    int arguments, code;
    struct reason reason;
    struct subcommand words[SUBCOMMAND_ROWS_MAX];
    for (size_t i = 0; i < count; i++)
        words[i] = rows[i].word;
    if (!options_read (usage, cli, &arguments, &code))
        return code;
    int word = subcommand_read (words, count, cli, arguments, &reason);
    if (word < 0)
        return usage_error (cli->argv[0], &reason);
    int after = arguments ? arguments - 1 : 0; // without a subcommand the first one is run
    struct subcommand_call self = {cli, call_open (cli, &code), options, cli->argv + 2, after};
    if (self.client && rows[word].run)
        code = rows[word].run (&self);
    else if (self.client)
        code =
            call_for_each_argument (cli, self.client, self.args, self.count, rows[word].run_each);
    zplan_client_destroy (&self.client);
    return code;
}
