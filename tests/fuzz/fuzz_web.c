// What zplan-web reads before it asks the station: a target, then lines of a header, and after an
// empty line a body. Also the file of a user.
#include <stdlib.h>

#include "cursor.h"
#include "forwarded.h"
#include "fuzz.h"
#include "guard.h"
#include "json.h"
#include "plan_document.h"
#include "problem.h"
#include "query.h"
#include "routes.h"
#include "submission.h"
#include "user_file.h"

static struct span cut (struct span *rest, char at)
{
    const uint8_t *end = rest->size ? memchr (rest->data, at, rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    struct span part = span_of (rest->data, size);
    size += end != NULL;
    *rest = span_of (rest->data + size, rest->size - size);
    return part;
}

static void read_target (struct span raw)
{
    struct request_target target = {0};
    struct routed routed;
    struct reason reason;
    char position[CURSOR_POSITION_SIZE], again[CURSOR_SIZE];
    if (request_target_read (raw, &target, &reason))
        return;
    HOLDS (target.segment_count <= TARGET_SEGMENTS_MAX && target.field_count <= TARGET_FIELDS_MAX);
    for (size_t i = 0; i < target.segment_count; i++)
        HOLDS (target.segments[i][0] && !strpbrk (target.segments[i], "/\\"));
    if (routes_find ("GET", &target, &routed) == 0)
        route_check_query (routed.route, &target, &reason);
    json_t *filter = query_filter (&target, &reason);
    const char *after = request_target_field (&target, "after");
    if (filter && after && cursor_read (after, 'i', filter, position, &reason) == 0) {
        cursor_write ('i', position, filter, again);
        HOLDS (cursor_read (again, 'i', filter, position, &reason) == 0);
    }
    guard_host_is_ours (target.authority, "zplan.example");
    json_decref (filter);
    request_target_clear (&target);
}

static void read_head (struct span *rest)
{
    struct guard_head head = {.method = "POST", .version = "HTTP/1.1"};
    struct reason reason;
    struct span line;
    while ((line = cut (rest, '\n')).size && head.count < GUARD_HEADERS_MAX) {
        struct span name = cut (&line, ':');
        head.headers[head.count++] = (struct guard_header){name, line};
    }
    if (guard_check (&head, &reason) == 0)
        HOLDS (!guard_value (&head, "Transfer-Encoding").data && guard_value (&head, "Host").data);
    guard_host_is_ours (guard_value (&head, "Host"), "a,b");
    guard_is_foreign (&head, true, NULL);
    char address[FORWARDED_SIZE];
    forwarded_address (&head, "10.0.0.0/8,::1", "unix", address);
    HOLDS (address[0] && strlen (address) < sizeof address);
    forwarded_scheme (&head);
    guard_media_is (guard_value (&head, "Content-Type"), "application/json");
}

static void read_body (struct span body)
{
    struct reason reason;
    struct submission_body read = {0};
    json_t *object = json_read_object (body, &reason);
    if (object && submission_read (object, &read, &reason) == 0) {
        HOLDS (read.count <= ZPLAN_FRAMES_MAX && read.plan && read.target);
        submission_clear (&read);
    } else {
        json_decref (problem_new ("/", 422, "plan_error", reason.text));
    }
    json_t *changes = object ? submission_changes (object, &reason) : NULL;
    json_decref (changes);
    json_decref (object);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct span rest = span_of (data, size);
    struct user_file file;
    struct reason reason;
    user_file_read (rest, &file, &reason);
    read_target (cut (&rest, '\n'));
    read_head (&rest);
    read_body (rest);
    return 0;
}
