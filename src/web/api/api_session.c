// Who asks.
#include "api.h"
#include "server.h"

static void on_whoami (struct exchange *self, const struct station_answer *answer)
{
    if (exchange_failed (self, answer))
        return;
    exchange_json (self, 200,
                   json_pack ("{s:o, s:O?, s:O?, s:O?, s:b, s:b}", "user",
                              self->user ? json_string (self->user) : json_null (), "key",
                              json_object_get (answer->json, "name"), "roles",
                              json_object_get (answer->json, "roles"), "targets",
                              json_object_get (answer->json, "stations"), "users",
                              self->server->users != NULL, "readonly",
                              (int)self->server->settings->readonly));
}

void api_session (struct exchange *self)
{
    const struct question question = {.word = "whoami", .repeat = true};
    exchange_question (self, &question, on_whoami);
}

void api_session_new (struct exchange *self)
{
    exchange_problem (self, 404, "no_users", "this zplan-web has no users: no token is needed");
}

void api_session_end (struct exchange *self)
{
    exchange_empty (self, 204);
}
