#include "plan_document.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident.h"
#include "json_names.h"
#include "json_values.h"

enum { KEY_MIN = 16, KEY_MAX = 255 };

const char *plan_etag (const json_t *plan, bool frames, char out[PLAN_ETAG_SIZE])
{
    snprintf (out, PLAN_ETAG_SIZE, "\"%" PRId64 "-%" PRIx64 "%s\"",
              (int64_t)json_integer_value (json_object_get (plan, "revision")),
              (uint64_t)json_integer_value (json_object_get (plan, "exec_id")), frames ? "-f" : "");
    return out;
}

int plan_etag_read (const char *text, int64_t *ret_revision)
{
    text += strncmp (text, "W/", 2) == 0 ? 2 : 0;
    size_t digits = strspn (text + (text[0] == '"'), "0123456789");
    if (text[0] != '"' || digits == 0 || digits > 18 || text[1 + digits] != '-' ||
        text[strlen (text) - 1] != '"')
        return -1;
    *ret_revision = strtoll (text + 1, NULL, 10);
    return 0;
}

json_t *plan_next_document (const json_t *answer)
{
    size_t i;
    const json_t *time;
    json_t *list = json_array ();
    json_array_foreach (json_object_get (answer, "next"), i, time)
        json_array_append_new (list, json_instant_ms (json_integer_value (time) * 1000));
    return json_pack ("{s:o, s:b}", "next", list, "never",
                      json_is_true (json_object_get (answer, "never")));
}

json_t *plan_submitted (const json_t *plan)
{
    static const char *const same[] = {"target", "title", "command", "args", "frames", "spec"};
    json_t *names = json_names (JSON_PLAN, plan), *line = json_object ();
    const char *state = json_string_value (json_object_get (names, "state"));
    json_t *name = json_object_get (names, "name");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (json_object_get (names, same[i]))
            json_object_set (line, same[i], json_object_get (names, same[i]));
    if (json_object_get (line, "frames")) { // `frames` has all of them
        json_object_del (line, "command");
        json_object_del (line, "args");
    }
    json_object_del (json_object_get (line, "spec"), "if_exists"); // an import changes no plan
    if (name)
        json_object_set (json_object_get (line, "spec"), "key", name);
    else
        json_object_set (line, "id", json_object_get (names, "id"));
    if (state && strcmp (state, "paused") == 0)
        json_object_set_new (line, "hold", json_true ());
    if (state && strcmp (state, "closed") == 0) {
        json_decref (line);
        line = NULL;
    }
    json_decref (names);
    return line;
}

bool plan_submitted_same (const json_t *a, const json_t *b)
{
    json_t *first = json_copy ((json_t *)(uintptr_t)a),
           *second = json_copy ((json_t *)(uintptr_t)b);
    json_object_del (first, "hold");
    json_object_del (first, "id");
    json_object_del (second, "hold");
    json_object_del (second, "id");
    bool same = json_equal (first, second);
    json_decref (first);
    json_decref (second);
    return same;
}

int plan_id_of_key (const char *user, const char *key, size_t line, char out[17],
                    struct reason *reason)
{
    char number[24];
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    uint64_t id = 0;
    size_t size = strlen (key);
    if (size < KEY_MIN || size > KEY_MAX)
        return reason_set (reason, "Idempotency-Key: want 16..255 bytes");
    crypto_hash_sha256_init (&state);
    crypto_hash_sha256_update (&state, (const unsigned char *)user, strlen (user) + 1);
    crypto_hash_sha256_update (&state, (const unsigned char *)key, size);
    if (line) {
        snprintf (number, sizeof number, "%zu", line);
        crypto_hash_sha256_update (&state, (const unsigned char *)"", 1);
        crypto_hash_sha256_update (&state, (const unsigned char *)number, strlen (number));
    }
    crypto_hash_sha256_final (&state, sum);
    for (int i = 0; i < 8; i++)
        id = id << 8 | sum[i];
    id &= INT64_MAX;
    ident_text (id ? id : 1, out);
    return 0;
}
