// Checks what the expressions of a definition refer to.
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"

enum {
    SEES_ITEM = 1,
    SEES_RESULT = 2,
    SEES_SELF = 4,
    SEES_STEPS = 8,
    SEES_ALL = 16,
    SEES_OUTCOME = 32
};

struct reference_check {
    struct flow_reader *reader;
    struct flow_step *step; // NULL: the expression belongs to the flow
    const char *path;
    int sees;
    size_t params, lets;    // numbers of params and lets that the expression may use
    const uint64_t *before; // bit set of the steps before this one
    const uint64_t *ran;    // bit set of the steps that have always run when this one runs
    bool for_each;
};

static void check_step_reference (struct reference_check *self, const struct expr_ref *ref,
                                  const char *text)
{
    struct flow *flow = self->reader->flow;
    int64_t index = flow_find (flow, ref->name);
    if (index < 0) {
        flow_add_error (self->reader, self->path, "column %d: no such step: %s", ref->column,
                        quoted (span_text (ref->name)));
        return;
    }
    if (!(self->sees & SEES_ALL) && !self->reader->cyclic &&
        (!self->before || !(self->before[index / 64] >> (index % 64) & 1)))
        flow_add_error (self->reader, self->path, "column %d: step %s is not before this one",
                        ref->column, ref->name);
    if (self->for_each)
        flow->steps[index].read_by_for_each = true;
    if (self->step && flow->steps[index].may_be_skipped && strcmp (ref->member, "value") == 0 &&
        !strstr (text, "default") && !strstr (text, "has") &&
        !(self->ran[index / 64] >> (index % 64) & 1))
        flow_add_warning (flow->report.warnings, "%s reads %s, which may be skipped: use default()",
                          self->step->name, ref->name);
}

bool flow_reads_outcome (const struct expr_ref *ref)
{
    return ref->kind == EXPR_REF_RUN &&
           (strcmp (ref->member, "outcome") == 0 || strcmp (ref->member, "failed") == 0);
}

static bool is_known_variable (const struct reference_check *self, const char *name)
{
    const struct flow *flow = self->reader->flow;
    for (size_t i = 0; i < self->params; i++)
        if (strcmp (flow->params[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < self->lets; i++)
        if (strcmp (self->step->lets[i].name, name) == 0)
            return true;
    return false;
}

static void check_expr_references (void *context, const struct expr *expr, const char *text,
                                   const char *path)
{
    static const int needs[EXPR_REF_RESULT + 1] = {[EXPR_REF_STEP] = SEES_STEPS,
                                                   [EXPR_REF_SELF] = SEES_SELF,
                                                   [EXPR_REF_ITEM] = SEES_ITEM,
                                                   [EXPR_REF_INDEX] = SEES_ITEM,
                                                   [EXPR_REF_RESULT] = SEES_RESULT};
    struct reference_check *self = context;
    self->path = path;
    const struct expr_ref *refs;
    size_t count = expr_refs (expr, &refs);
    for (size_t i = 0; i < count; i++) {
        const struct expr_ref *ref = &refs[i];
        bool ok = !needs[ref->kind] || self->sees & needs[ref->kind];
        if (ref->kind == EXPR_REF_VARIABLE)
            ok = is_known_variable (self, ref->name);
        else if (ref->kind == EXPR_REF_RUN)
            ok = self->sees & SEES_OUTCOME || !flow_reads_outcome (ref);
        else if (ref->kind == EXPR_REF_STEP && ok)
            check_step_reference (self, ref, text);
        if (!ok)
            flow_add_error (self->reader, self->path, "column %d: %s%s%s is not known here",
                            ref->column, quoted (span_text (ref->name)), ref->member ? "." : "",
                            ref->member ? ref->member : "");
    }
    self->path = NULL;
}

static void check_field_references (struct reference_check *self, const char *name,
                                    const struct flow_template *value, const struct expr *expr,
                                    int sees)
{
    char path[FLOW_PATH_SIZE];
    snprintf (path, sizeof path, "steps.%.64s%s", self->step->name, name);
    self->sees = sees;
    if (value)
        flow_template_visit (value, path, check_expr_references, self);
    if (expr)
        check_expr_references (
            self, expr, json_string_value (json_object_get (self->step->json, name + 1)), path);
}

static void check_all_references (struct reference_check *self)
{
    struct flow_step *step = self->step;
    int steps = self->sees, item = steps | (step->for_each ? SEES_ITEM : 0);
    char path[FLOW_PATH_SIZE];
    check_field_references (self, ".if", NULL, step->condition, steps);
    self->for_each = true;
    check_field_references (self, ".for_each", step->for_each, NULL, steps);
    self->for_each = false;
    for (size_t i = 0; i < step->let_count; i++) {
        snprintf (path, sizeof path, "steps.%.64s.let.%.64s", step->name, step->lets[i].name);
        self->lets = i;
        self->sees = item;
        check_expr_references (self, step->lets[i].expr,
                               json_string_value (json_object_get (
                                   json_object_get (step->json, "let"), step->lets[i].name)),
                               path);
    }
    self->lets = step->let_count;
    check_field_references (self, "", step->call.frames, NULL, item);
    check_field_references (self, ".wait", step->wait, NULL, item);
    check_field_references (self, ".signal.on_timeout.value", step->no_signal_value, NULL, steps);
    check_field_references (self, ".output", step->output, NULL, item | SEES_RESULT);
    check_field_references (self, ".undo", step->undo.frames, NULL, item | SEES_SELF);
}

// For each step find the steps before it, and those of them that have always run when it runs: all
// its edges lead back to them.
static void find_earlier_steps (const struct flow *flow, size_t words, uint64_t *before,
                                uint64_t *ran)
{
    for (uint32_t i = 0; i < flow->step_count; i++) {
        uint32_t at = flow->order[i];
        const struct flow_step *step = &flow->steps[at];
        uint64_t *step_before = before + words * at, *step_ran = ran + words * at;
        for (uint32_t j = 0; j < step->in_count; j++) {
            const struct flow_edge *edge = &flow->in[step->in_first + j];
            uint32_t source = edge->step;
            uint64_t source_bit = UINT64_C (1) << (source % 64);
            bool runs = !(edge->on & (FLOW_ON_ENDED | FLOW_ON_SKIPPED));
            for (size_t k = 0; k < words; k++) {
                uint64_t source_ran = runs ? ran[words * source + k] : 0;
                if (k == source / 64 && edge->on == FLOW_ON_FINISHED)
                    source_ran |= source_bit;
                step_before[k] |= before[words * source + k];
                step_ran[k] = j ? step_ran[k] & source_ran : source_ran;
            }
            step_before[source / 64] |= source_bit;
        }
    }
}

// Whether an edge may be dead, so that its branch is not taken.
static bool edge_may_die (const struct flow *flow, const struct flow_edge *edge)
{
    return !(edge->on & (FLOW_ON_FINISHED | FLOW_ON_ENDED)) ||
           (flow->steps[edge->step].may_be_skipped && !(edge->on & FLOW_ON_SKIPPED));
}

// Mark the steps that their if, on_timeout or dead edges may skip, and warn of joins that such
// sources may keep from passing.
static void mark_skippable_steps (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        struct flow_step *step = &flow->steps[flow->order[i]];
        uint32_t sure = 0, reached = 0;
        for (uint32_t j = 0; j < step->in_count; j++) {
            const struct flow_edge *edge = &flow->in[step->in_first + j];
            sure += !edge_may_die (flow, edge);
            reached += edge_may_die (flow, edge) && edge->on & FLOW_ON_FINISHED;
        }
        bool lacks = step->in_count && sure < (step->join_all ? 1 : step->need);
        step->edges_may_die = lacks;
        step->may_be_skipped = step->condition || step->on_timeout == FLOW_NO_SIGNAL_SKIP || lacks;
        if (lacks && reached && !step->join_all && step->need > 1)
            flow_add_warning (flow->report.warnings,
                              "%s: needs %u of %u edges, of which only %u are certain", step->name,
                              step->need, step->in_count, sure);
    }
}

// Warn of an else branch that also runs when the step with the condition is not reached.
static void warn_of_else_branches (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        for (uint32_t j = 0; step->join_all && j < step->in_count; j++) {
            const struct flow_edge *edge = &flow->in[step->in_first + j];
            const struct flow_step *source = &flow->steps[edge->step];
            if (edge->on == FLOW_ON_SKIPPED && source->condition && source->edges_may_die)
                flow_add_warning (
                    flow->report.warnings,
                    "%s also runs when no edge to %s is live, not only when its if is false",
                    step->name, source->name);
        }
    }
}

// Whether a step cannot fail: it calls nothing and computes nothing.
static bool step_never_fails (const struct flow_step *step)
{
    bool constant = step->kind == FLOW_COMPUTE || (step->kind == FLOW_WAIT && step->wait &&
                                                   !flow_template_has_expression (step->wait));
    return constant && !step->let_count && !step->condition && !step->output;
}

// Whether `dead` edges, which are never live, keep a step from ever starting.
static bool join_never_passes (const struct flow_step *step, uint32_t dead)
{
    bool lacks =
        !step->join_all && step->need <= step->in_count && step->in_count - dead < step->need;
    return dead && (dead == step->in_count || lacks);
}

// Report joins that can never pass, as their edges are never live. An error is only what has always
// been an error, as stored definitions must stay valid; the rest is a warning.
static void check_dead_edges (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        uint32_t wrong = 0, dead = 0;
        for (uint32_t j = 0; j < step->in_count; j++) {
            const struct flow_edge *edge = &flow->in[step->in_first + j];
            const struct flow_step *source = &flow->steps[edge->step];
            int never = (step_never_fails (source) ? FLOW_ON_FAILED | FLOW_ON_CAUGHT : 0) |
                        (source->may_be_skipped ? 0 : FLOW_ON_SKIPPED);
            dead += !(edge->on & ~never);
            wrong += !(edge->on & ~(never & ~FLOW_ON_SKIPPED)) && source->kind == FLOW_COMPUTE;
        }
        if (join_never_passes (step, wrong))
            flow_add_error (self, flow_path_of ("steps", step->name).text,
                            "never starts: it waits for the failure of a step that cannot fail");
        else if (join_never_passes (step, dead))
            flow_add_warning (flow->report.warnings,
                              "%s never starts: it waits for what its sources never become",
                              step->name);
    }
}

void flow_check_references (struct flow_reader *self)
{
    struct flow *flow = self->flow;
    size_t words = (flow->step_count + 63) / 64;
    uint64_t *before = memory_new (2 * words * flow->step_count * sizeof *before),
             *ran = before + words * flow->step_count;
    find_earlier_steps (flow, words, before, ran);
    mark_skippable_steps (self);
    warn_of_else_branches (self);
    for (size_t i = 0; i < flow->param_count; i++) {
        struct reference_check reference_check = {.reader = self, .params = i};
        if (flow->params[i].value)
            flow_template_visit (flow->params[i].value,
                                 flow_path_of ("params", flow->params[i].name).text,
                                 check_expr_references, &reference_check);
    }
    for (uint32_t i = 0; i < flow->step_count; i++) {
        struct reference_check reference_check = {.reader = self,
                                                  .step = &flow->steps[i],
                                                  .sees = SEES_STEPS,
                                                  .params = flow->param_count,
                                                  .before = before + words * i,
                                                  .ran = ran + words * i};
        if (i == flow->final)
            reference_check.sees |= SEES_ALL | SEES_OUTCOME;
        check_all_references (&reference_check);
    }
    struct reference_check reference_check = {
        .reader = self, .params = flow->param_count, .sees = SEES_STEPS | SEES_ALL};
    if (flow->output)
        flow_template_visit (flow->output, "output", check_expr_references, &reference_check);
    check_dead_edges (self);
    free (before);
}
