#include "permit.h"

#include "access.h"
#include "station_name.h"
#include "stored_text.h"

const struct access_key *permit_key (const struct station *self, const char *user)
{
    return self->access && *user ? access_find (self->access, user) : NULL;
}

struct span permit_name (const struct station *self, const char *user)
{
    const struct access_key *key = permit_key (self, user);
    return span_text (key ? key->name : "");
}

// The user on whose behalf a request is made; empty: the key's owner.
static struct span named_user (const struct station *self, const struct peer *peer)
{
    const struct access_key *key = permit_key (self, peer->user);
    return key && key->speaks && peer->has_requester ? peer->requester : (struct span){0};
}

struct span permit_user_in_effect (const struct station *self, const struct peer *peer,
                                   char out[SPEAKER_SIZE])
{
    struct span key = permit_name (self, peer->user), user = named_user (self, peer);
    if (!user.size)
        return key;
    snprintf (out, SPEAKER_SIZE, "%.*s/%.*s", (int)key.size, (const char *)key.data, (int)user.size,
              (const char *)user.data);
    return span_text (out);
}

int permit_check_named_user (const struct station *self, const struct peer *peer,
                             struct reason *reason)
{
    struct span user = named_user (self, peer);
    if (!user.size || name_valid_with (user, "@"))
        return 0;
    return reason_error (reason, ZPLAN_EARGUMENT,
                         "REQUESTER: want a user, 1..64 of A-Z a-z 0-9 _ . @ -");
}

bool permits_roles (const struct station *self, const char *user, unsigned roles)
{
    const struct access_key *key = permit_key (self, user);
    return !self->access || (key && access_has_role (key, roles));
}

bool permits_station (const struct station *self, const char *user, struct span station)
{
    const struct access_key *key = permit_key (self, user);
    return !self->access || (key && access_has_station (key, station));
}

bool permits_plan (const struct station *self, const char *user, struct span station,
                   struct span message)
{
    size_t from = 0;
    const uint8_t *at = NULL, *end = NULL;
    if (!station_is_callbacks (self, station) || permits_all_stations (self, user))
        return permits_station (self, user, station);
    at = message_value (message, "source", &from);
    if (at && *at == '"')
        end = memchr (at + 1, '"', (size_t)((const uint8_t *)message.data + message.size - at - 1));
    return end && permits_station (self, user, span_of (at + 1, (size_t)(end - at - 1)));
}

bool permit_work_silently (const struct station *self, const char *user, struct span station)
{
    bool named = !self->access || !permits_all_stations (self, user);
    return permits_station (self, user, station) &&
           (named || !station_is_callbacks (self, station));
}

int permit_callback_denied (struct reason *reason)
{
    return reason_error (reason, ZPLAN_EDENY, "callbacks: only the station makes and changes them");
}

struct span permit_sole_station (const struct station *self, const char *user)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const struct access_key *key = permit_key (self, user);
    bool sole = key && strspn (key->stations, plain) == strlen (key->stations);
    return span_text (sole ? key->stations : "");
}

bool permits_all_stations (const struct station *self, const char *user)
{
    const struct access_key *key = permit_key (self, user);
    return !self->access || (key && !key->stations[0]);
}

// The error for a key that was removed from the allow-list.
static int key_removed_error (struct reason *reason)
{
    return reason_error (reason, ZPLAN_EDENY, "key: is no longer allowed");
}

int permit_roles (const struct station *self, const char *user, unsigned roles,
                  struct reason *reason)
{
    char wanted[ROLES_TEXT_MAX], granted[ROLES_TEXT_MAX];
    const struct access_key *key = permit_key (self, user);
    if (permits_roles (self, user, roles))
        return 0;
    return !key ? key_removed_error (reason)
                : reason_error (reason, ZPLAN_EDENY, "role: want %s, the key %s has %s",
                                roles_text (roles, wanted), quoted (span_text (key->name)),
                                roles_text (key->roles, granted));
}

static int permit_touch (const struct station *self, const char *user, const char *what,
                         const char *of, struct span name, struct reason *reason)
{
    const struct access_key *key = permit_key (self, user);
    if (permits_station (self, user, name))
        return 0;
    return !key ? key_removed_error (reason)
                : reason_error (reason, ZPLAN_EDENY, "%s: the key %s may not touch %s%s", what,
                                quoted (span_text (key->name)), of, quoted (name));
}

int permit_station (const struct station *self, const char *user, struct span station,
                    struct reason *reason)
{
    return permit_touch (self, user, "station", "plans of ", station, reason);
}

int permit_named (const struct station *self, const char *user, const char *what, struct span name,
                  struct reason *reason)
{
    return permit_touch (self, user, what, "", name, reason);
}

int permit_work (const struct station *self, const char *user, struct span station,
                 struct reason *reason)
{
    int rc = permit_station (self, user, station, reason);
    if (rc || permit_work_silently (self, user, station))
        return rc;
    return reason_error (reason, ZPLAN_EDENY,
                         "station: the key %s has to name %s among its stations",
                         quoted (permit_name (self, user)), quoted (station));
}
