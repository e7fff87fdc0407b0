// A stack machine. Every operation counts as a step, except those that only push a constant or an
// item: the operation that consumes these is counted. So every evaluation ends.
#include "expr_run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr_functions.h"
#include "memory.h"

// -- errors and bounds

static void set_error_at (struct expr_error *error, enum expr_code code, int line, int column,
                          const char *format, va_list args)
{
    char text[REASON_MAX];
    vsnprintf (text, sizeof text, format, args);
    *error = (struct expr_error){.code = code, .line = line, .column = column};
    if (line > 1)
        reason_set (&error->reason, "line %d, column %d: %s", line, column, text);
    else
        reason_set (&error->reason, "column %d: %s", column, text);
}

bool expr_error_at (struct expr_error *error, enum expr_code code, int line, int column,
                    const char *format, ...)
{
    va_list args;
    va_start (args, format);
    set_error_at (error, code, line, column, format, args);
    va_end (args);
    return false;
}

bool expr_fail (struct expr_run *run, enum expr_code code, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    set_error_at (run->error, code, run->op->line, run->op->column, format, args);
    va_end (args);
    return false;
}

bool expr_charge_steps (struct expr_run *run, size_t steps)
{
    if (steps <= run->steps) {
        run->steps -= (uint32_t)steps;
        return true;
    }
    run->steps = 0;
    return expr_fail (run, EXPR_LIMIT, "takes more steps than are allowed (%u)",
                      (unsigned)run->allowed);
}

bool expr_charge_bytes (struct expr_run *run, size_t bytes)
{
    enum { BYTES_PER_STEP = 64 };
    return expr_charge_steps (run, bytes / BYTES_PER_STEP);
}

static void *allocate_charged (struct expr_run *run, size_t size)
{
    if (!expr_charge_bytes (run, size))
        return NULL;
    void *block = expr_memory_allocate (run->memory, size);
    if (!block)
        expr_fail (run, EXPR_LIMIT, "takes more than %d bytes of memory", EXPR_MEMORY_MAX);
    return block;
}

char *expr_allocate_string (struct expr_run *run, size_t size)
{
    if (size <= EXPR_STRING_MAX)
        return allocate_charged (run, size);
    expr_fail (run, EXPR_LIMIT, "a string of %zu bytes, at most %d", size, EXPR_STRING_MAX);
    return NULL;
}

struct expr_value *expr_allocate_list (struct expr_run *run, size_t count)
{
    if (count <= EXPR_LIST_MAX)
        return allocate_charged (run, count * sizeof (struct expr_value));
    expr_fail (run, EXPR_LIMIT, "a list of %zu items, at most %d", count, EXPR_LIST_MAX);
    return NULL;
}

struct expr_value expr_of_list (const struct expr_value *items, size_t count)
{
    return (struct expr_value){.type = EXPR_LIST, .size = (uint32_t)count, .items = items};
}

// -- the machine

struct loop {
    struct expr_value list, item; // the list of the loop, and its current item
    uint32_t index;               // index of the item
    struct expr_value *results;   // items of the result of map and filter
    uint32_t count;               // number of items in `results`
};

struct guard {
    size_t top, loop_count; // sizes when OP_TRY ran, to be restored
    size_t target;          // the operation that follows EXPR_MISSING
};

struct machine {
    struct expr_run run;
    size_t next; // index of the operation to run next
    struct expr_value *stack;
    size_t top; // number of values on the stack
    struct loop loops[EXPR_DEPTH_MAX];
    size_t loop_count;
    struct guard guards[EXPR_DEPTH_MAX];
    size_t guard_count;
};

static void push (struct machine *self, struct expr_value value)
{
    assert (self->top < self->run.expr->stack_size);
    self->stack[self->top++] = value;
}

static struct expr_value pop (struct machine *self)
{
    assert (self->top > 0);
    return self->stack[--self->top];
}

static bool check_boolean (struct machine *self, const struct expr_value *value)
{
    return value->type == EXPR_BOOLEAN ||
           expr_fail (&self->run, EXPR_TYPE, "want boolean, got %s", expr_type_name (value->type));
}

// -- values

// Push the value of a reference, which the caller of the evaluation resolves.
static bool push_reference (struct machine *self, const struct expr_ref *ref)
{
    struct expr_value value;
    struct reason reason = {""};
    const struct expr_env *env = self->run.env;
    int rc = env->resolve (env->context, ref, &value, &reason);
    if (!rc) {
        push (self, value);
        return true;
    }
    enum expr_code code = (enum expr_code)rc;
    if (reason.text[0])
        return expr_fail (&self->run, code, "%s", reason.text);
    // A step's name is quoted if it is no identifier.
    bool plain = ref->kind != EXPR_REF_STEP || expr_name_valid (span_text (ref->name));
    return expr_fail (&self->run, code, "%s: %s%s%s%s",
                      code == EXPR_MISSING ? "missing" : "no such variable",
                      ref->kind == EXPR_REF_STEP ? "steps." : "",
                      plain ? ref->name : quoted (span_text (ref->name)), ref->member ? "." : "",
                      ref->member ? ref->member : "");
}

static bool push_member (struct machine *self, const struct expr_value *object, struct span name)
{
    struct expr_value member;
    if (object->type != EXPR_OBJECT && object->type != EXPR_NULL)
        return expr_fail (&self->run, EXPR_TYPE, "no member %s of %s", quoted (name),
                          expr_type_name (object->type));
    if (object->type == EXPR_NULL || !expr_member (object, name, &member))
        return expr_fail (&self->run, EXPR_MISSING, "missing: %s", quoted (name));
    push (self, member);
    return true;
}

static bool push_indexed (struct machine *self)
{
    struct expr_value index = pop (self), value = pop (self);
    if (index.type == EXPR_STRING && value.type != EXPR_LIST)
        return push_member (self, &value, span_of (index.string, index.size));
    if (index.type == EXPR_INTEGER && value.type == EXPR_NULL)
        return expr_fail (&self->run, EXPR_MISSING, "missing: item %" PRId64 " of null",
                          index.integer);
    if (index.type != EXPR_INTEGER || value.type != EXPR_LIST)
        return expr_fail (&self->run, EXPR_TYPE, "no index %s of %s", expr_type_name (index.type),
                          expr_type_name (value.type));
    if (index.integer < 0 || index.integer >= value.size)
        return expr_fail (&self->run, EXPR_MISSING, "missing: %" PRId64 " of %" PRIu32,
                          index.integer, value.size);
    push (self, expr_item (&value, (uint32_t)index.integer));
    return true;
}

static bool push_new_list (struct machine *self, size_t count)
{
    struct expr_value *items = expr_allocate_list (&self->run, count);
    if (!items)
        return false;
    self->top -= count;
    memcpy (items, self->stack + self->top, count * sizeof *items);
    push (self, expr_of_list (items, count));
    return true;
}

static bool check_argument (struct machine *self, const char *name, unsigned takes,
                            const struct expr_value *argument)
{
    if (takes & EXPR_MASK (argument->type))
        return true;
    const char *wanted = takes & ON_STRING                  ? "string"
                         : takes & EXPR_MASK (EXPR_DECIMAL) ? "a number"
                                                            : "integer";
    return expr_fail (&self->run, EXPR_TYPE, "%s: want %s, got %s", name, wanted,
                      expr_type_name (argument->type));
}

static bool call_function (struct machine *self, const struct expr_op *op)
{
    bool is_method = op->code == OP_METHOD;
    const struct expr_method *method = &expr_methods[is_method ? op->argument : 0];
    const struct expr_static *function = &expr_statics[is_method ? 0 : op->argument];
    const char *name = is_method ? method->name : function->name;
    size_t count = op->count + (size_t)is_method;
    self->top -= count;
    const struct expr_value *arguments = self->stack + self->top;
    if (is_method && !(method->on & EXPR_MASK (arguments->type)))
        return expr_fail (&self->run, EXPR_TYPE, "no such method: %s of %s", name,
                          expr_type_name (arguments->type));
    for (size_t i = is_method; i < count; i++) {
        if (!check_argument (self, name, is_method ? method->takes : ON_NUMBER, &arguments[i]))
            return false;
    }
    struct expr_value result;
    bool ok = (is_method ? method->function : function->function) (&self->run, arguments, &result);
    if (ok)
        push (self, result);
    return ok;
}

static bool compare_values (struct machine *self, enum expr_op_code code,
                            const struct expr_value *left, const struct expr_value *right,
                            struct expr_value *ret)
{
    int order = 0;
    bool holds = false, ok;
    if (code == OP_EQUAL || code == OP_UNEQUAL) {
        ok = expr_equal (&self->run, left, right, &holds);
        holds = holds == (code == OP_EQUAL);
    } else {
        ok = expr_compare (&self->run, left, right, &order);
        holds = code == OP_LESS         ? order < 0
                : code == OP_LESS_EQUAL ? order <= 0
                : code == OP_GREATER    ? order > 0
                                        : order >= 0;
    }
    *ret = expr_of_boolean (holds);
    return ok;
}

static bool apply_binary (struct machine *self, enum expr_op_code code)
{
    struct expr_value right = pop (self), left = pop (self), result;
    bool ok;
    if (code == OP_ADD)
        ok = expr_add (&self->run, &left, &right, &result);
    else if (code < OP_EQUAL)
        ok = expr_calculate (&self->run, &left, &right, &result);
    else if (code == OP_IN)
        ok = expr_in (&self->run, &left, &right, &result);
    else
        ok = compare_values (self, code, &left, &right, &result);
    if (ok)
        push (self, result);
    return ok;
}

static bool apply_unary (struct machine *self, const struct expr_op *op)
{
    struct expr_value value = pop (self), result;
    bool ok;
    if (op->code == OP_NEGATE) {
        ok = expr_negate (&self->run, &value, &result);
    } else if (op->code == OP_WITH) {
        ok = value.type == EXPR_TIME
                 ? expr_apply_adjuster (&self->run, (int)op->argument, &value, &result)
                 : expr_fail (&self->run, EXPR_TYPE, "no such method: with of %s",
                              expr_type_name (value.type));
    } else {
        ok = check_boolean (self, &value);
        result = expr_of_boolean (ok && !value.boolean);
    }
    if (ok)
        push (self, result);
    return ok;
}

// -- loops

static struct expr_value loop_result (const struct loop *loop, enum expr_loop_kind kind)
{
    if (kind == LOOP_ALL || kind == LOOP_ANY)
        return expr_of_boolean (kind == LOOP_ALL);
    return expr_of_list (loop->results, loop->count);
}

static bool begin_loop (struct machine *self, const struct expr_op *op)
{
    struct loop loop = {.list = pop (self)};
    enum expr_loop_kind kind = (enum expr_loop_kind)op->count;
    if (loop.list.type != EXPR_LIST)
        return expr_fail (&self->run, EXPR_TYPE, "no such method: map, filter, all, any of %s",
                          expr_type_name (loop.list.type));
    if (loop.list.size == 0) {
        push (self, loop_result (&loop, kind));
        self->next = op->argument;
        return true;
    }
    uint32_t room = loop.list.size;
    if (kind == LOOP_FILTER && room > EXPR_LIST_MAX)
        room = EXPR_LIST_MAX;
    if (kind == LOOP_MAP || kind == LOOP_FILTER) {
        loop.results = expr_allocate_list (&self->run, room);
        if (!loop.results)
            return false;
    }
    loop.item = expr_item (&loop.list, 0);
    self->loops[self->loop_count++] = loop;
    return true;
}

static bool end_loop_pass (struct machine *self, const struct expr_op *op)
{
    struct loop *loop = &self->loops[self->loop_count - 1];
    enum expr_loop_kind kind = (enum expr_loop_kind)op->count;
    struct expr_value computed = pop (self);
    if (kind != LOOP_MAP && !check_boolean (self, &computed))
        return false;
    bool decided =
        (kind == LOOP_ALL && !computed.boolean) || (kind == LOOP_ANY && computed.boolean);
    if (kind == LOOP_MAP) {
        loop->results[loop->count++] = computed;
    } else if (kind == LOOP_FILTER && computed.boolean) {
        if (loop->count == EXPR_LIST_MAX)
            return expr_fail (&self->run, EXPR_LIMIT, "a list of more than %d items",
                              EXPR_LIST_MAX);
        loop->results[loop->count++] = loop->item;
    }
    if (!decided && ++loop->index < loop->list.size) {
        loop->item = expr_item (&loop->list, loop->index);
        self->next = op->argument;
        return true;
    }
    push (self, decided ? computed : loop_result (loop, kind));
    self->loop_count--;
    return true;
}

// -- control

static void end_guard (struct machine *self, const struct expr_op *op)
{
    struct expr_value value = pop (self);
    self->guard_count--;
    if (op->code == OP_DEFAULT && value.type == EXPR_NULL)
        return;
    push (self, op->code == OP_HAS ? expr_of_boolean (true) : value);
    self->next = op->argument;
}

static bool branch_on_boolean (struct machine *self, const struct expr_op *op)
{
    struct expr_value value = pop (self);
    if (!check_boolean (self, &value))
        return false;
    bool jumps = op->code == OP_OR ? value.boolean : !value.boolean;
    if (jumps)
        self->next = op->argument;
    if (jumps && op->code != OP_BRANCH)
        push (self, value);
    return true;
}

// Run one operation; self->next is already the index of the following one.
static bool run_operation (struct machine *self, const struct expr_op *op)
{
    const struct expr *expr = self->run.expr;
    struct expr_value value;
    switch (op->code) {
    case OP_CONSTANT:
        push (self, expr->constants[op->argument]);
        return true;
    case OP_LOCAL:
        push (self, self->loops[op->argument].item);
        return true;
    case OP_REF:
        return push_reference (self, &expr->refs[op->argument]);
    case OP_LIST:
        return push_new_list (self, op->argument);
    case OP_NOT:
    case OP_NEGATE:
    case OP_WITH:
        return apply_unary (self, op);
    case OP_AND:
    case OP_OR:
    case OP_BRANCH:
        return branch_on_boolean (self, op);
    case OP_BOOLEAN:
        return check_boolean (self, &self->stack[self->top - 1]);
    case OP_JUMP:
        self->next = op->argument;
        return true;
    case OP_MEMBER:
        value = pop (self);
        return push_member (
            self, &value,
            span_of (expr->constants[op->argument].string, expr->constants[op->argument].size));
    case OP_INDEX:
        return push_indexed (self);
    case OP_METHOD:
    case OP_STATIC:
        return call_function (self, op);
    case OP_LOOP:
        return begin_loop (self, op);
    case OP_NEXT:
        return end_loop_pass (self, op);
    case OP_TRY:
        self->guards[self->guard_count++] = (struct guard){
            .top = self->top, .loop_count = self->loop_count, .target = op->argument};
        return true;
    case OP_DEFAULT:
    case OP_HAS:
        end_guard (self, op);
        return true;
    default:
        return apply_binary (self, op->code);
    }
}

static bool run_operations (struct machine *self)
{
    const struct expr *expr = self->run.expr;
    while (self->next < expr->op_count) {
        const struct expr_op *op = &expr->ops[self->next++];
        self->run.op = op;
        bool is_free = op->code == OP_CONSTANT || op->code == OP_LOCAL;
        if ((is_free || expr_charge_steps (&self->run, 1)) && run_operation (self, op))
            continue;
        if (self->run.error->code != EXPR_MISSING || !self->guard_count)
            return false;
        const struct guard *guard = &self->guards[--self->guard_count];
        self->top = guard->top;
        self->loop_count = guard->loop_count;
        self->next = guard->target;
    }
    assert (self->top == 1 && !self->loop_count && !self->guard_count);
    return true;
}

int expr_evaluate (const struct expr *self, const struct expr_env *env, struct expr_memory *memory,
                   struct expr_value *ret, struct expr_error *error)
{
    uint32_t given = env->steps && *env->steps < EXPR_STEPS_MAX ? *env->steps : EXPR_STEPS_MAX;
    struct machine machine = {.run = {.expr = self,
                                      .env = env,
                                      .memory = memory,
                                      .error = error,
                                      .steps = given,
                                      .allowed = given},
                              .stack =
                                  memory_resize (NULL, self->stack_size * sizeof *machine.stack)};
    bool ok = run_operations (&machine);
    if (ok)
        *ret = machine.stack[0];
    if (env->steps)
        *env->steps -= given - machine.run.steps;
    free (machine.stack);
    return ok ? 0 : error->code;
}
