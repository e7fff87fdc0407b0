#include "api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cursor.h"
#include "json.h"
#include "json_names.h"
#include "json_values.h"
#include "memory.h"
#include "problem.h"
#include "query.h"
#include "server.h"

static api_fn *const table[ROUTES] = {
#define ROUTE(name, resource, ...) [ROUTE_##name] = api_##resource,
#include "routes.def"
};

void api_reject_field (struct exchange *self, const char *name, const char *want)
{
    struct reason reason;
    reason_set (&reason, "%s: want %s", name, want);
    self->errors = problem_field (name, reason.text);
    exchange_problem (self, 422, "invalid_field", "%s", reason.text);
}

void api_dispatch (struct exchange *self)
{
    struct reason reason;
    const char *name = route_check_body (self->routed.route, self->json, &reason);
    if (name) {
        self->errors = problem_field (name, reason.text);
        exchange_problem (self, 422, "unknown_field", "%s", reason.text);
        return;
    }
    table[self->routed.route - routes](self);
}

static void on_whoami (struct exchange *self, const struct station_answer *answer)
{
    bool sees_all = !json_is_string (json_object_get (answer->json, "stations"));
    if (sees_all && exchange_observes (answer->json))
        self->on_permitted (self);
    else
        exchange_problem (self, 403, "deny", "wants the role observe, for all targets");
}

void api_ask_observer (struct exchange *self, api_fn *fn)
{
    const struct question question = {.command = "whoami", .repeat = true};
    if (!self->user) {
        fn (self);
        return;
    }
    self->on_permitted = fn;
    exchange_question (self, &question, on_whoami);
}

// -- common answers

void api_on_plan (struct exchange *self, const struct station_answer *answer)
{
    exchange_answer_json (self, 200, json_names (JSON_PLAN, answer->json));
}

void api_on_answer (struct exchange *self, const struct station_answer *answer)
{
    exchange_answer_json (self, 200, json_names (JSON_ANSWER, answer->json));
}

void api_on_done (struct exchange *self, const struct station_answer *answer)
{
    (void)answer;
    exchange_answer_empty (self, 204);
}

const char *api_read_count (struct exchange *self)
{
    int64_t count;
    char text[24];
    struct reason reason;
    if (query_number (&self->target, "count", 1, 1000, 10, &count, &reason)) {
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return NULL;
    }
    snprintf (text, sizeof text, "%" PRId64, count);
    return exchange_own_block (self, memory_text (text));
}

void api_add_location (struct exchange *self, const char *folder, const char *name)
{
    const char *root = self->server->settings->root;
    char location[SETTING_TEXT_MAX + 64];
    snprintf (location, sizeof location, "%s/v1/%s/%s", root[1] ? root : "", folder, name);
    exchange_add_header (self, "Location", location);
}

// -- pages

enum { LARGE = 100, LINK_MAX = 1024 };

// Kept until the station has answered with the page.
struct page_call {
    struct api_page page;
    json_t *filter;
    char cursor[CURSOR_SIZE]; // cursor of the next page; empty: there is none
};

static void clear_page_call (struct exchange *self)
{
    struct page_call *call = self->own;
    json_decref (call->filter);
    free (call);
}

static size_t append_url_encoded (char *out, size_t at, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text && at + 4 < LINK_MAX; text++)
        at += (size_t)snprintf (out + at, LINK_MAX - at, strchr (plain, *text) ? "%c" : "%%%02X",
                                (unsigned char)*text);
    return at;
}

// Add the header Link to the next page. If the query is too long for it, the cursor is only in the
// body.
static void add_next_link (struct exchange *self, const char *cursor)
{
    char link[LINK_MAX + 32] = "<?after=";
    size_t at = append_url_encoded (link, strlen (link), cursor);
    for (size_t i = 0; i < self->target.field_count; i++) {
        const struct query_field *field = &self->target.fields[i];
        if (strcmp (field->name, "after") == 0)
            continue;
        at = span_put (link, at, span_text ("&"));
        at = append_url_encoded (link, at, field->name);
        at = span_put (link, at, span_text ("="));
        at = append_url_encoded (link, at, field->value);
        if (at > LINK_MAX - 64)
            return;
    }
    snprintf (link + at, sizeof link - at, ">; rel=\"next\"");
    exchange_add_header (self, "Link", link);
}

// Append a member of the station's answer, other than the items, to `rest`, which is written after
// them.
static void append_page_member (struct page_call *call, struct span name, struct span value,
                                struct json_text *rest)
{
    static const char *const same[] = {"epoch", "first", "last", "missed"};
    if (span_is (name, "next")) {
        json_t *next = json_value_tree (value);
        if (json_is_string (next) && json_string_length (next) < CURSOR_POSITION_SIZE) {
            cursor_write (call->page.order, json_string_value (next), call->filter, call->cursor);
            json_text_raw (rest, span_text (",\"next\":"));
            json_put_string (rest, call->cursor);
        }
        json_decref (next);
        return;
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (!span_is (name, same[i]))
            continue;
        json_text_raw (rest, span_text (",\""));
        json_text_raw (rest, name);
        json_text_raw (rest, span_text ("\":"));
        json_text_raw (rest, value);
    }
}

// Convert the station's page to our names, from text to text, as it may have a thousand plans.
// False: the answer is no page.
static bool convert_page (struct page_call *call, struct json_scan *scan, struct json_text *body,
                          struct json_text *rest)
{
    struct span name, value;
    bool found = false;
    if (!json_scan_take (scan, '{'))
        return false;
    do {
        if (!json_scan_any_name (scan, &name))
            return false;
        bool is_list = span_is (name, call->page.list);
        json_scan_space (scan);
        if (is_list ? found || !json_scan_is_next (scan, '[') ||
                          !json_names_take ((enum json_kind)call->page.kind, scan, body)
                    : !json_scan_value (scan, &value))
            return false;
        if (!is_list)
            append_page_member (call, name, value, rest);
        found = found || is_list;
    } while (json_scan_take (scan, ','));
    return found && json_scan_take (scan, '}') && json_scan_ended (scan);
}

static void on_page (struct exchange *self, const struct station_answer *answer)
{
    struct page_call *call = self->own;
    struct json_text body, rest;
    size_t size;
    struct json_scan scan = json_scan_of (answer->text);
    json_text_start (&body, 2 * answer->text.size);
    json_text_start (&rest, CURSOR_SIZE);
    json_text_raw (&body, span_text ("{\"items\":"));
    bool good = convert_page (call, &scan, &body, &rest);
    json_text_raw (&body, span_of (rest.bytes, rest.size));
    json_text_raw (&body, span_text ("}"));
    free (rest.bytes);
    char *text = json_text_end (&body, &size);
    if (good) {
        if (call->cursor[0])
            add_next_link (self, call->cursor);
        exchange_answer_bytes (self, 200, "application/json", text, size);
    } else {
        free (text);
        exchange_problem (self, 503, "no_answer", "the station's answer is no page");
    }
}

void api_ask_page (struct exchange *self, const struct api_page *page, json_t *filter)
{
    struct reason reason;
    char position[CURSOR_POSITION_SIZE];
    const char *after = request_target_field (&self->target, "after");
    json_t *fields = query_filter (&self->target, &reason);
    if (fields)
        json_object_update_missing (fields, filter);
    json_decref (filter);
    if (!fields || (after && cursor_read (after, page->order, fields, position, &reason))) {
        json_decref (fields);
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return;
    }
    struct page_call *call = memory_new (sizeof *call);
    *call = (struct page_call){.page = *page, .filter = fields};
    self->own = call;
    self->clear = clear_page_call;
    json_t *asked = json_copy (fields);
    if (after)
        json_object_set_new (asked, "after", json_string (position));
    int64_t limit = json_integer_value (json_object_get (fields, "limit"));
    const struct question question = {.command = self->routed.route->command,
                                      .args = {exchange_own_block (self, json_write (asked))},
                                      .repeat = true,
                                      .large = limit > LARGE,
                                      .as_text = true};
    json_decref (asked);
    exchange_question (self, &question, on_page);
}
