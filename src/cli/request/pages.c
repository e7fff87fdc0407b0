#include "pages.h"

#include <stdlib.h>

#include "json.h"

enum { PAGES_MAX = 10000000 };

static struct verdict fetch (const struct cli *cli, struct zplan_client *client, struct pages *self,
                             json_t **ret_page)
{
    struct zplan_reply reply;
    int64_t size = self->size ? self->size : PAGE_SIZE;
    int64_t limit = self->room < size ? self->room : size;
    json_object_set_new (self->filter, "limit", json_integer (limit));
    char *text = json_write (self->filter);
    int outcome = zplan_client_manage (client, self->word, (const char *[]){text}, 1, &reply);
    free (text);
    struct verdict verdict = call_verdict (cli, outcome, &reply);
    if (verdict.code != EXIT_DONE)
        return verdict;

    struct reason why, reason;
    *ret_page = json_read_object (call_frame (&reply, ZERO_FRAME_JSON), &why);
    if (*ret_page)
        return verdict;
    reason_set (&reason, "the station's answer: %s", why.text);
    return verdict_refused (reason.text);
}

// Go to the page behind this one. False: there is none. A station that names the same place again
// would hold us for ever.
static bool advance (struct pages *self, const json_t *page, struct verdict *verdict)
{
    json_t *next = json_object_get (page, "next");
    if (!json_is_string (next))
        return false;
    if (json_equal (next, json_object_get (self->filter, "after"))) {
        struct reason reason;
        reason_set (&reason, "the %s has two pages that begin after %s", self->word,
                    quoted (span_of (json_string_value (next), json_string_length (next))));
        *verdict = verdict_refused (reason.text);
        return false;
    }
    json_object_set (self->filter, "after", next);
    return true;
}

struct verdict pages_turn (const struct cli *cli, struct zplan_client *client, struct pages *self)
{
    for (int64_t pages = 0; pages < PAGES_MAX; pages++) {
        json_t *page = NULL;
        struct verdict verdict = fetch (cli, client, self, &page);
        bool more = verdict.code == EXIT_DONE && self->take (self, page) && self->room > 0 &&
                    advance (self, page, &verdict);
        json_decref (page);
        if (!more)
            return verdict;
    }
    return verdict_refused ("the pages have no end");
}
