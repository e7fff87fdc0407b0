// Why a step waits, starts or is blocked, as text.
#pragma once

#include "flow_run.h"

enum { FLOW_CALL_NAME_SIZE = FLOW_NAME_MAX + 24 };

// Write the name of a call: "extract", or for an item "resize.3".
void flow_call_name (const struct flow *flow, uint32_t step, int64_t item,
                     char text[FLOW_CALL_NAME_SIZE]);

// Write why a step starts: "after extract", the source that ended last. `text` is unchanged if it
// has none.
void flow_why_starts (const struct flow *flow, const struct flow_run *run, uint32_t step,
                      char *text, size_t size);

// Write why a step is blocked: "extract failed: disk full".
void flow_why_blocked (const struct flow *flow, const struct flow_run *run, uint32_t step,
                       char *text, size_t size);

// Write what a signal step waits for: "for 2 signals of lead, head-*, 1 so far (lead)".
void flow_why_waits (const struct flow *flow, const struct flow_run *run, uint32_t step, char *text,
                     size_t size);
