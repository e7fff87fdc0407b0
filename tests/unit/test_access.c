// The allow-list: which certificates are put on it, what a key may do, and where it may connect.
#include "access.h"
#include "rows.h"

#define KEY_A "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define KEY_B "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_C "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"

static struct curve_cert cert_of (const char *key, const char *name, const char *roles,
                                  const char *stations)
{
    struct curve_cert cert = {0};
    snprintf (cert.keys.public_key, sizeof cert.keys.public_key, "%s", key);
    snprintf (cert.name, sizeof cert.name, "%s", name);
    snprintf (cert.roles, sizeof cert.roles, "%s", roles);
    snprintf (cert.stations, sizeof cert.stations, "%s", stations);
    return cert;
}

static struct access *list_of (const char *roles, const char *stations)
{
    struct access *list = access_new ();
    struct curve_cert cert = cert_of (KEY_A, "a", roles, stations);
    struct reason reason;
    CHECK_INT (roles, access_add (list, &cert, &reason), 0);
    return list;
}

// -- what is put on the list

static const struct refused_row {
    const char *name;
    struct {
        const char *key, *roles, *stations;
    } cert;
    const char *reason;
} refused_rows[] = {
    {"no role", {KEY_B, "", ""}, "roles: want at least one of submit,observe,manage,result,signal"},
    {"unknown role",
     {KEY_B, "submit,root", ""},
     "roles: want one or more of submit,observe,manage,result,signal, got 'root'"},
    {"empty role",
     {KEY_B, "submit,", ""},
     "roles: want one or more of submit,observe,manage,result,signal, got ''"},
    {"role in capitals",
     {KEY_B, "Submit", ""},
     "roles: want one or more of submit,observe,manage,result,signal, got 'Submit'"},
    {"star inside",
     {KEY_B, "submit", "j*s"},
     "stations: want names of 1..64 A-Z a-z 0-9 _ . - or prefixes of them that end with *, "
     "got 'j*s'"},
    {"empty station",
     {KEY_B, "submit", "jobs,"},
     "stations: want names of 1..64 A-Z a-z 0-9 _ . - or prefixes of them that end with *, "
     "got ''"},
    {"twice", {KEY_A, "submit", ""}, "public-key: is that of 'a' too"},
};

static void unsound_certificates_are_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (refused_rows); i++) {
        const struct refused_row *row = &refused_rows[i];
        struct access *list = list_of ("observe", "");
        struct curve_cert cert = cert_of (row->cert.key, "b", row->cert.roles, row->cert.stations);
        struct reason reason = {""};
        CHECK_INT (row->name, access_add (list, &cert, &reason), -1);
        CHECK_TEXT (row->name, reason.text, row->reason);
        CHECK_INT (row->name, access_size (list), 1);
        CHECK (row->name, !access_find (list, KEY_B));
        CHECK_INT (row->name, access_find (list, KEY_A)->roles, CURVE_ROLE_OBSERVE);
        access_destroy (&list);
    }
}

static void keys_are_found (void **state)
{
    (void)state;
    struct access *list = list_of ("submit", "");
    struct curve_cert cert = cert_of (KEY_B, "b", "result,manage", "x");
    struct reason reason;
    CHECK_INT ("b", access_add (list, &cert, &reason), 0);
    CHECK_INT ("both", access_size (list), 2);
    CHECK_TEXT ("a", access_find (list, KEY_A)->name, "a");
    CHECK_TEXT ("b", access_find (list, KEY_B)->name, "b");
    CHECK_INT ("b", access_find (list, KEY_B)->roles, CURVE_ROLE_MANAGE | CURVE_ROLE_RESULT);
    CHECK ("c", !access_find (list, KEY_C));
    CHECK ("none", !access_find (list, ""));
    access_destroy (&list);
    access_destroy (&list);
}

static void a_full_list_takes_no_more (void **state)
{
    (void)state;
    struct access *list = access_new ();
    struct reason reason;
    char key[CURVE_KEY_SIZE];
    struct curve_cert cert = cert_of (KEY_A, "a", "submit", "");
    for (int i = 0; i < ACCESS_KEYS_MAX; i++) {
        snprintf (key, sizeof key, "%040d", i);
        memcpy (cert.keys.public_key, key, sizeof key);
        CHECK_INT (key, access_add (list, &cert, &reason), 0);
    }
    cert = cert_of (KEY_A, "a", "submit", "");
    CHECK_INT ("one more", access_add (list, &cert, &reason), -1);
    CHECK_TEXT ("one more", reason.text, "keys: at most 10000");
    access_destroy (&list);
}

// -- roles

static const struct role_row {
    const char *roles;
    unsigned asked;
    bool has;
} role_rows[] = {
    {"submit", CURVE_ROLE_SUBMIT, true},
    {"submit", CURVE_ROLE_OBSERVE, false},
    {"submit", CURVE_ROLE_MANAGE, false},
    {"submit", CURVE_ROLE_RESULT, false},
    {"submit", CURVE_ROLE_OBSERVE | CURVE_ROLE_SUBMIT, true},
    {"observe,manage", CURVE_ROLE_MANAGE, true},
    {"observe,manage", CURVE_ROLE_SUBMIT | CURVE_ROLE_RESULT, false},
    {"submit", ROLES_ANY, true},
    {"observe", ROLES_ANY, true},
    {"manage", ROLES_ANY, true},
    {"result", ROLES_ANY, true},
};

static void a_role_is_held_or_not (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (role_rows); i++) {
        const struct role_row *row = &role_rows[i];
        struct access *list = list_of (row->roles, "");
        char name[80];
        snprintf (name, sizeof name, "%s has %x", row->roles, row->asked);
        CHECK_INT (name, access_has_role (access_find (list, KEY_A), row->asked), row->has);
        access_destroy (&list);
    }
}

static void roles_are_told (void **state)
{
    (void)state;
    char out[ROLES_TEXT_MAX];
    CHECK_TEXT ("none", roles_text (0, out), "");
    CHECK_TEXT ("one", roles_text (CURVE_ROLE_RESULT, out), "result");
    CHECK_TEXT ("two", roles_text (CURVE_ROLE_MANAGE | CURVE_ROLE_SUBMIT, out), "submit,manage");
    CHECK_TEXT ("all", roles_text (ROLES_ANY, out), "submit,observe,manage,result,signal");
}

// -- stations

static const struct station_row {
    const char *stations, *station;
    bool has;
} station_rows[] = {
    {"", "jobs", true},
    {"", "", true},
    {"jobs", "jobs", true},
    {"jobs", "job", false},
    {"jobs", "jobs2", false},
    {"jobs", "Jobs", false},
    {"jobs", "", false},
    {"jobs,report-*", "report-", true},
    {"jobs,report-*", "report-x", true},
    {"jobs,report-*", "report", false},
    {"jobs,report-*", "jobs", true},
    {"jobs,report-*", "news", false},
    {"report-*", "a-report-x", false},
    {"*", "anything", true},
    {"*", "", true},
};

static void a_station_may_be_touched_or_not (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (station_rows); i++) {
        const struct station_row *row = &station_rows[i];
        struct access *list = list_of ("submit", row->stations);
        char name[80];
        snprintf (name, sizeof name, "%s has '%s'", row->stations, row->station);
        uint8_t *bytes = exact_bytes (span_text (row->station));
        CHECK_INT (
            name,
            access_has_station (access_find (list, KEY_A), span_of (bytes, strlen (row->station))),
            row->has);
        free (bytes);
        access_destroy (&list);
    }
}

// -- connecting

static const struct connect_row {
    const char *roles, *stations, *domain;
    bool may;
} connect_rows[] = {
    {"submit", "", "request", true},
    {"observe", "", "request", true},
    {"manage", "x", "request", true},
    {"result", "x", "request", true},
    {"observe", "", "publish", true},
    {"observe", "", "events", true},
    {"observe", "x", "publish", false},
    {"observe", "x*", "events", false},
    {"observe", "x,*", "publish", true},
    {"submit", "", "publish", false},
    {"submit,manage,result", "", "events", false},
    {"submit", "", "", false},
    {"submit", "", "request2", false},
    {"submit", "", "reques", false},
    {"submit,observe,manage,result,signal", "", "global", false},
};

static void a_socket_may_be_connected_to_or_not (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (connect_rows); i++) {
        const struct connect_row *row = &connect_rows[i];
        struct access *list = list_of (row->roles, row->stations);
        char name[80];
        snprintf (name, sizeof name, "%s of '%s' to %s", row->roles, row->stations, row->domain);
        CHECK_INT (name, access_may_connect (access_find (list, KEY_A), span_text (row->domain)),
                   row->may);
        access_destroy (&list);
    }
}

static const struct shut_row {
    const char *name, *old_roles, *old_stations, *roles, *stations;
    bool shut;
} shut_rows[] = {
    {"the same", "observe", "", "observe", "", false},
    {"other roles", "observe,submit", "", "manage,observe", "", false},
    {"gone", "observe", "", NULL, NULL, true},
    {"no observer any more", "observe,submit", "", "submit", "", true},
    {"some stations only", "observe", "", "observe", "x", true},
    {"never could", "submit", "", NULL, NULL, false},
    {"all stations now", "observe", "x", "observe", "", false},
};

static void who_is_shut_out_is_noticed (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (shut_rows); i++) {
        const struct shut_row *row = &shut_rows[i];
        struct access *old = list_of (row->old_roles, row->old_stations);
        struct access *list = row->roles ? list_of (row->roles, row->stations) : access_new ();
        CHECK_INT (row->name, access_shuts_out (old, list, span_text ("publish")), row->shut);
        access_destroy (&old);
        access_destroy (&list);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (unsound_certificates_are_refused),
        cmocka_unit_test (keys_are_found),
        cmocka_unit_test (a_full_list_takes_no_more),
        cmocka_unit_test (a_role_is_held_or_not),
        cmocka_unit_test (roles_are_told),
        cmocka_unit_test (a_station_may_be_touched_or_not),
        cmocka_unit_test (a_socket_may_be_connected_to_or_not),
        cmocka_unit_test (who_is_shut_out_is_noticed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
