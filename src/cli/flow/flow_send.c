#include "flow_send.h"

#include <stdlib.h>
#include <string.h>

#include "flow_file.h"
#include "json.h"
#include "print.h"

int flow_report_refusal (const struct cli *cli, const struct verdict *verdict, const char *subject,
                         const json_t *reply)
{
    if (cli->json && verdict->code != EXIT_NO_ANSWER) {
        json_t *name = subject ? json_from_frame (span_text (subject)) : NULL;
        json_t *answer = json_pack ("{s:o*}", "name", name);
        refusal_add_to (answer, cli, verdict);
        json_object_set (answer, "errors", json_object_get (reply, "errors"));
        print_answer_new (cli, JSON_ANSWER, answer);
    }
    return flow_print_errors (subject, json_object_get (reply, "errors"))
               ? verdict->code
               : verdict_print (verdict, subject);
}

// Send the words, and return the JSON of the reply, also of a rejection.
static json_t *flow_request (const struct cli *cli, struct zplan_client *client,
                             const char *const *words, struct verdict *ret)
{
    struct zplan_reply reply;
    int outcome = zplan_client_manage (client, "flow", words, words_count (words), &reply);
    *ret = call_verdict (cli, outcome, &reply);
    struct span text = outcome == ZPLAN_OK ? call_frame (&reply, ZERO_FRAME_JSON) : span_text ("");
    json_t *json = json_loadb ((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    return json || ret->code != EXIT_DONE ? json : json_object ();
}

json_t *flow_send_command_quietly (const struct cli *cli, struct zplan_client *client,
                                   const char *const *words, struct verdict *ret)
{
    json_t *json = flow_request (cli, client, words, ret);
    if (ret->code == EXIT_DONE)
        return json;
    json_decref (json);
    return NULL;
}

json_t *flow_send_command (const struct cli *cli, struct zplan_client *client,
                           const char *const *words, const char *subject, int *ret_code)
{
    struct verdict verdict;
    json_t *json = flow_request (cli, client, words, &verdict);
    *ret_code = verdict.code;
    if (verdict.code == EXIT_DONE)
        return json;
    *ret_code = flow_report_refusal (cli, &verdict, subject, json);
    json_decref (json);
    return NULL;
}

bool flow_page_next (const json_t *page, json_t *filter)
{
    json_t *next = json_object_get (page, "next");
    if (!next || json_equal (next, json_object_get (filter, "after"))) // avoid an endless loop
        return false;
    json_object_set (filter, "after", next);
    return true;
}

struct flow_items flow_items (const struct cli *cli, struct zplan_client *client, const char *word,
                              json_t *filter)
{
    return (struct flow_items){
        .cli = cli, .client = client, .word = word, .filter = filter, .more = true};
}

json_t *flow_items_next (struct flow_items *self)
{
    const char *list = strcmp (self->word, "list") == 0 ? "flows" : "runs";
    for (;;) {
        json_t *item = json_array_get (json_object_get (self->page, list), self->next++);
        if (item || !self->more)
            return item;
        char *text = json_write (self->filter);
        json_decref (self->page);
        self->page = flow_send_command (
            self->cli, self->client, (const char *[]){self->word, text, NULL}, NULL, &self->code);
        self->more = flow_page_next (self->page, self->filter);
        self->next = 0;
        free (text);
    }
}

int flow_items_end (struct flow_items *self)
{
    json_decref (self->page);
    json_decref (self->filter);
    return self->code;
}
