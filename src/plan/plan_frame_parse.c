// Parses the bytes of a PLAN frame, JSON or msgpack. It is separate from plan_frame.c, which
// libzplan needs without msgpack.
#include "plan_frame.h"

#include <inttypes.h>

#include "json.h"
#include "pack.h"
#include "status.h"

int plan_frame_parse_tree (struct span frame, const struct plan_limits *limits,
                           struct plan_fields *ret, struct reason *reason)
{
    struct reason why;
    json_t *object =
        pack_is (frame) ? pack_read_object (frame, &why) : json_read_object (frame, &why);
    int rc = ZPLAN_EPLAN;
    if (!object)
        reason_set (reason, "PLAN: %s", why.text);
    else if (json_depth (object) > limits->depth)
        reason_set (reason, "PLAN: nested deeper than %" PRId64, limits->depth);
    else
        rc = plan_frame_read (object, limits, ret, reason);
    json_decref (object);
    return rc;
}

int plan_frame_parse (struct span frame, const struct plan_limits *limits, struct plan_fields *ret,
                      struct reason *reason)
{
    if ((int64_t)frame.size > limits->bytes)
        return reason_error (reason, ZPLAN_EPLAN, "PLAN: at most %" PRId64 " bytes, got %zu",
                             limits->bytes, frame.size);
    return plan_frame_scan (frame, limits, ret)
               ? 0
               : plan_frame_parse_tree (frame, limits, ret, reason);
}
