// whoami: what the requester's key may do, so that programs offer only that. Proto 9.14.
#include "access.h"
#include "manage_private.h"
#include "permit.h"

// The rights of the key. NULL: there is no allow-list, so nobody has a name and everything is
// allowed.
static json_t *rights_json (const struct access_key *key)
{
    static const char *const names[] = {"submit", "observe", "manage", "result", "signal"};
    static const unsigned bits[] = {CURVE_ROLE_SUBMIT, CURVE_ROLE_OBSERVE, CURVE_ROLE_MANAGE,
                                    CURVE_ROLE_RESULT, CURVE_ROLE_SIGNAL};
    json_t *roles = json_array ();
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (!key || access_has_role (key, bits[i]))
            json_array_append_new (roles, json_string (names[i]));
    bool bound = key && key->stations[0];
    return json_pack ("{s:o, s:o, s:o}", "name", key ? json_string (key->name) : json_null (),
                      "roles", roles, "stations",
                      bound ? json_string (key->stations) : json_null ());
}

void manage_whoami (struct station *self, struct request *request,
                    const struct arguments *arguments)
{
    (void)arguments;
    const struct access_key *key = permit_key (self, request->peer.user);
    if (!key && self->access) { // it was just removed from the allow-list
        permit_roles (self, &request->peer, ROLES_ANY);
        return;
    }
    json_t *answer = rights_json (key);
    manage_reply_json (self, &request->peer, 0, answer);
}
