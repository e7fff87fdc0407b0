#include "problem.h"

#include <ctype.h>
#include <stdio.h>

#include "plan_frame.h"
#include "zplan_codes.h"

static const struct {
    int status;
    const char *title;
} rows[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

static const char *problem_title (int status)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status)
            return rows[i].title;
    return "Error";
}

int problem_status (uint8_t station_status, bool unsafe)
{
    switch (station_status) {
    case ZERO_STATUS_NOT_FIND_ID:
        return 404;
    case ZERO_STATUS_DENY_ID:
        return 403;
    case ZERO_STATUS_NET_ERROR_ID:
        // A change may have been done, and clients retry a 503 automatically.
        return unsafe ? 504 : 503;
    case ZERO_STATUS_FRAME_PLANERROR_ID:
    case ZERO_STATUS_MANAGE_ARG_ERROR_ID:
    case ZERO_STATUS_FRAME_INVALID_ID:
        return 422;
    default:
        return 500;
    }
}

int problem_busy (const char *reason, bool removes, int *ret_after_s)
{
    size_t size = strlen (reason);
    const char *in = NULL;
    int ms = 0, end = 0;
    for (const char *at = reason; (at = strstr (at, " again in ")); at++)
        in = at;
    *ret_after_s = 0;
    if (in && sscanf (in, " again in %7d ms%n", &ms, &end) == 1 && end && !in[end] && ms >= 0)
        *ret_after_s = ms < 1000 ? 1 : (ms + 999) / 1000;
    else if (size >= 6 && strcmp (reason + size - 6, " again") == 0)
        *ret_after_s = 1;
    if (*ret_after_s)
        return 503;
    return removes ? 409 : 507;
}

// Write a pointer to the field in the submitted document; "" if the text does not start with a
// field.
static void write_field_pointer (const char *detail, char *out, size_t size)
{
    char name[64];
    size_t length = strcspn (detail, ":.[ ");
    out[0] = '\0';
    if (length == 0 || length >= sizeof name || !detail[length] || detail[length] == ' ')
        return;
    snprintf (name, sizeof name, "%.*s", (int)length, detail);
    if (strcmp (name, "description") == 0)
        snprintf (out, size, "#/title");
    else if (strcmp (name, "COMMAND") == 0)
        snprintf (out, size, "#/command");
    else if (strcmp (name, "STATION_ID") == 0 || strcmp (name, "station") == 0 ||
             strcmp (name, "target") == 0)
        snprintf (out, size, "#/target");
    else if (plan_frame_field (name))
        snprintf (out, size, "#/spec/%s", name);
}

// Convert a path to a pointer: "steps.load.args[2]" to "#/steps/load/args/2". The names contain
// none of . [ ].
static json_t *path_to_pointer (const char *path)
{
    char pointer[REASON_MAX];
    size_t size = (size_t)snprintf (pointer, sizeof pointer, "#/");
    for (const char *at = path; *at && size < sizeof pointer - 1; at++)
        if (*at != ']')
            pointer[size++] = *at == '.' || *at == '[' ? '/' : *at;
    return json_stringn (pointer, size);
}

json_t *problem_errors (const json_t *errors)
{
    size_t i;
    const json_t *error;
    json_t *list = json_array ();
    json_array_foreach (errors, i, error)
    {
        const char *path = json_string_value (json_object_get (error, "path"));
        json_t *reason = json_object_get (error, "reason");
        if (path && reason)
            json_array_append_new (list, json_pack ("{s:o, s:O}", "pointer", path_to_pointer (path),
                                                    "detail", reason));
    }
    if (json_array_size (list))
        return list;
    json_decref (list);
    return NULL;
}

// The name comes from the client: in a pointer "~" and "/" are escaped (RFC 6901), and in a
// fragment of a URL all but plain letters, digits and "-._~".
json_t *problem_field (const char *name, const char *detail)
{
    char pointer[REASON_MAX];
    size_t size = (size_t)snprintf (pointer, sizeof pointer, "#/");
    for (const char *at = name; *at && size + 4 < sizeof pointer; at++) {
        bool plain = isalnum ((unsigned char)*at) || strchr ("-._", *at);
        size += (size_t)snprintf (pointer + size, sizeof pointer - size,
                                  plain        ? "%c"
                                  : *at == '~' ? "~0"
                                  : *at == '/' ? "~1"
                                               : "%%%02X",
                                  (unsigned char)*at);
    }
    return json_pack ("[{s:s, s:s}]", "pointer", pointer, "detail", detail);
}

json_t *problem_new (const char *root, int status, const char *code, const char *detail)
{
    static const char frame[] = "STATION_ID: "; // wire name, which the pointer replaces
    char pointer[80];
    write_field_pointer (detail, pointer, sizeof pointer);
    if (strncmp (detail, frame, strlen (frame)) == 0)
        detail += strlen (frame);
    json_t *problem =
        json_pack ("{s:o, s:s, s:i, s:s}", "type",
                   json_sprintf ("%s/help/%s", strcmp (root, "/") == 0 ? "" : root, code), "title",
                   problem_title (status), "status", status, "code", code);
    if (detail[0])
        json_object_set_new (problem, "detail", json_string (detail));
    if (pointer[0] && status == 422)
        json_object_set_new (problem, "errors",
                             json_pack ("[{s:s, s:s}]", "pointer", pointer, "detail", detail));
    return problem;
}
