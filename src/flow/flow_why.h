// Why a step waits or starts, as text.
#pragma once

#include "flow_run.h"

// "after extract": the source that ended last. Empty without one.
void flow_why_starts (const struct flow *flow, const struct flow_run *run, uint32_t step,
                      char *text, size_t size);

// "extract failed: disk full", of a blocked step.
void flow_why_blocked (const struct flow *flow, const struct flow_run *run, uint32_t step,
                       char *text, size_t size);

// "for 2 signals of lead, head-*".
void flow_why_waits (const struct flow_step *step, char *text, size_t size);
