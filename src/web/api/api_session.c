// The session: who is signed in.
#include "api.h"
#include "server.h"
#include "users.h"

static void on_whoami (struct exchange *self, const struct station_answer *answer)
{
    json_t *body = json_pack (
        "{s:o, s:O?, s:O?, s:O?, s:b, s:b, s:s*}", "user",
        self->user ? json_string (self->user) : json_null (), "key",
        json_object_get (answer->json, "name"), "roles", json_object_get (answer->json, "roles"),
        "targets", json_object_get (answer->json, "stations"), "users", self->server->users != NULL,
        "readonly", (int)self->server->settings->readonly, "session",
        self->secret[0] ? self->secret : NULL);
    exchange_answer_json (self, 200, body);
}

void api_session (struct exchange *self)
{
    const struct question question = {.command = "whoami", .repeat = true};
    exchange_question (self, &question, on_whoami);
}

void api_session_new (struct exchange *self)
{
    struct users *users = self->server->users;
    const char *token = json_string_value (json_object_get (self->json, "token"));
    if (!users)
        exchange_problem (self, 404, "no_users", "this zplan-web has no users: no token is needed");
    else if (!token)
        exchange_problem (self, 422, "invalid_field", "token: want a string");
    else if (users_sign_in (users, self, token, self->secret) && exchange_audit (self))
        api_session (self);
}

void api_session_end (struct exchange *self)
{
    users_sign_out (self);
    exchange_answer_empty (self, 204);
}
