// Metrics for Prometheus, from the station's answers. Pure.
#pragma once

#include <jansson.h>
#include <stdio.h>

enum { METRIC_TARGETS_MAX = 256 };

// Write the metrics in text format 0.0.4. `health` NULL: the station did not answer; `stats` NULL:
// the station has no statistics, as Redis is away. Targets after the first `targets` are combined
// as `other`; at most METRIC_TARGETS_MAX are written.
void metrics_write (FILE *out, const json_t *health, const json_t *stats, size_t targets);
