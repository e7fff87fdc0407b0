#include "access.h"

#include <czmq.h>
#include <stdlib.h>

#include "memory.h"

struct access {
    zhashx_t *keys; // by public key: struct access_key
};

static void key_destroy (void **key)
{
    free (*key);
    *key = NULL;
}

struct access *access_new (void)
{
    struct access *self = memory_new (sizeof *self);
    self->keys = zhashx_new ();
    zhashx_set_destructor (self->keys, key_destroy);
    return self;
}

void access_destroy (struct access **self_p)
{
    struct access *self = *self_p;
    if (!self)
        return;
    zhashx_destroy (&self->keys);
    free (self);
    *self_p = NULL;
}

int access_add (struct access *self, const struct curve_cert *cert, struct reason *reason)
{
    unsigned roles;
    const struct access_key *listed = access_find (self, cert->keys.public_key);
    if (curve_roles_read (cert->roles, &roles, reason) ||
        curve_stations_check (cert->stations, reason))
        return -1;
    if (!roles)
        return reason_set (reason,
                           "roles: want at least one of submit,observe,manage,result,signal");
    if (listed)
        return reason_set (reason, "public-key: is that of %s too",
                           quoted (span_text (listed->name)));
    if (access_size (self) == ACCESS_KEYS_MAX)
        return reason_set (reason, "keys: at most %d", ACCESS_KEYS_MAX);
    struct access_key *key = memory_new (sizeof *key);
    memcpy (key->public_key, cert->keys.public_key, sizeof key->public_key);
    memcpy (key->name, cert->name, sizeof key->name);
    // "*" means all stations, like an empty list; it alone matches the empty name.
    if (!curve_stations_have (cert->stations, span_text ("")))
        memcpy (key->stations, cert->stations, sizeof key->stations);
    key->roles = roles;
    key->speaks = strcmp (cert->speaks_for, "yes") == 0;
    zhashx_insert (self->keys, key->public_key, key);
    return 0;
}

size_t access_size (const struct access *self)
{
    return zhashx_size (self->keys);
}

const struct access_key *access_find (const struct access *self, const char *public_key)
{
    return zhashx_lookup (self->keys, public_key);
}

bool access_has_role (const struct access_key *key, unsigned roles)
{
    return (key->roles & roles) != 0;
}

bool access_has_station (const struct access_key *key, struct span station)
{
    return curve_stations_have (key->stations, station);
}

bool access_may_connect (const struct access_key *key, struct span domain)
{
    static const struct {
        const char *name;
        unsigned roles;
        bool all_stations;
    } domains[] = {
        {"request", ROLES_ANY, false},
        {"publish", CURVE_ROLE_OBSERVE, true},
        {"events", CURVE_ROLE_OBSERVE, true},
    };
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (span_is (domain, domains[i].name))
            return access_has_role (key, domains[i].roles) &&
                   !(domains[i].all_stations && key->stations[0]);
    return false;
}

bool access_shuts_out (const struct access *old, const struct access *list, struct span domain)
{
    const struct access_key *key = zhashx_first (old->keys);
    while (key) {
        const struct access_key *now = access_find (list, key->public_key);
        if (access_may_connect (key, domain) && !(now && access_may_connect (now, domain)))
            return true;
        key = zhashx_next (old->keys);
    }
    return false;
}

const struct role_name role_names[ROLES] = {{CURVE_ROLE_SUBMIT, "submit"},
                                            {CURVE_ROLE_OBSERVE, "observe"},
                                            {CURVE_ROLE_MANAGE, "manage"},
                                            {CURVE_ROLE_RESULT, "result"},
                                            {CURVE_ROLE_SIGNAL, "signal"}};

const char *roles_text (unsigned roles, char out[ROLES_TEXT_MAX])
{
    char *at = out;
    *at = '\0';
    for (size_t i = 0; i < ROLES; i++)
        if (roles & role_names[i].role)
            at += snprintf (at, ROLES_TEXT_MAX - (size_t)(at - out), "%s%s", at == out ? "" : ",",
                            role_names[i].name);
    return out;
}
