// Expressions of flow definitions: a text is compiled once and evaluated with values of the caller.
// Pure and total: no clock, no randomness, no user code; every evaluation ends within its limits
// of steps and memory. An error names the column. Grammar and values: proto/flows.md.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "span.h"
#include "zone.h"

enum {
    EXPR_TEXT_MAX = 4096,     // bytes of one expression
    EXPR_PROGRAM_MAX = 65536, // bytes of a program
    EXPR_LINES_MAX = 1000,    // lines of a program
    EXPR_DEPTH_MAX = 64,      // nesting of parentheses, lists, arguments, signs and ? :
    EXPR_STEPS_MAX = 50000,   // steps of one evaluation: operations, and work on long values
    EXPR_STRING_MAX = 65536,  // bytes of a string that an expression makes
    EXPR_LIST_MAX = 10000,    // items of a list that an expression makes
    EXPR_MEMORY_MAX = 3932160 // maximum bytes of one struct expr_memory
};

enum expr_code {
    EXPR_SYNTAX = -1,  // the text is not a valid expression
    EXPR_UNKNOWN = -2, // no such variable, member of a reserved name, method or static
    EXPR_TYPE = -3,    // an operator, method or index is applied to a value of a wrong type
    EXPR_MISSING = -4, // no such member or item, or no value yet: default () and has () handle it
    EXPR_RANGE = -5,   // overflow, division by zero, no such day, index outside a string
    EXPR_LIMIT = -6    // one of the bounds above, or a result larger than its bound
};

struct expr_error {
    enum expr_code code;
    int line, column;     // from 1, column in characters; 0: the error has no place in the text
    struct reason reason; // "column 4: ...", in later lines "line 2, column 4: ..."
};

// -- values

enum expr_type {
    EXPR_NULL,
    EXPR_BOOLEAN,
    EXPR_INTEGER,
    EXPR_DECIMAL, // finite
    EXPR_STRING,  // UTF-8 without NUL
    EXPR_LIST,
    EXPR_OBJECT, // always from JSON: expressions create none
    EXPR_TIME    // wall-clock time in whole seconds, years 0001..9999
};

// Immutable. Its pointers are borrowed from a struct expr_memory, from an expression's constants,
// or from JSON of the caller.
struct expr_value {
    uint8_t type;   // enum expr_type
    bool from_json; // true: a list whose items are in `json`, not in `items`
    uint32_t size;  // bytes of a string, items of a list, members of an object
    union {
        bool boolean;
        int64_t integer;
        double decimal;
        const char *string; // not terminated
        const struct expr_value *items;
        const json_t *json;
        int64_t time; // seconds since 1970-01-01T00:00:00 on the wall clock
    };
};

// "null", "boolean", "integer", "decimal", "string", "list", "object", "time".
const char *expr_type_name (enum expr_type type);

// The value of `json`, which is borrowed and must outlive the returned value.
struct expr_value expr_of_json (const json_t *json);

struct expr_value expr_of_string (struct span text);
struct expr_value expr_of_integer (int64_t integer);

// A wall-clock time within the years 0001..9999, in seconds. For an instant pass `instant +
// zone_offset (zone, instant)`.
struct expr_value expr_of_time (int64_t local);

// Return the item at `index`, which must be below the size of the list.
struct expr_value expr_item (const struct expr_value *list, uint32_t index);

// Parse JSON of input, results and parameters: any value, UTF-8, no NUL, no duplicate names, nested
// at most EXPR_DEPTH_MAX deep; integers beyond 64 bits become decimals. Returns a new reference, or
// NULL with a reason.
json_t *expr_read_json (struct span text, struct reason *reason);

// Write the value as compact JSON of at most `max` bytes: decimals as the shortest text that reads
// back, times as "2024-03-31T08:30:00". Returns 0 with a NUL-terminated text, which the caller
// frees, or a negative expr_code. A list that is used twice is written and counted twice.
int expr_write_json (const struct expr_value *value, size_t max, char **ret, size_t *ret_size,
                     struct expr_error *error);

// Convert the value to JSON of at most `max` bytes as text. Returns a new reference, or NULL with
// an error.
json_t *expr_to_json (const struct expr_value *value, size_t max, struct expr_error *error);

// -- memory of values that evaluations create

struct expr_memory;

struct expr_memory *expr_memory_new (void);
void expr_memory_destroy (struct expr_memory **self);

// Free all values created in this memory.
void expr_memory_clear (struct expr_memory *self);

enum { EXPR_SCALAR_SIZE = 32 }; // bytes of the text of a number, boolean or time, with its NUL

// The text of a string, integer, decimal, boolean or time, as a message frame has it; it is in
// `buffer` or borrowed from the value. False: null, lists and objects have no text.
bool expr_text (const struct expr_value *value, char buffer[EXPR_SCALAR_SIZE], struct span *ret);

// Parse "2024-03-31", "2024-03-31T08:30" or "2024-03-31T08:30:00" as a wall-clock time. A text with
// Z or an offset is an instant, which is converted to the clock of `zone` (NULL: UTC). Returns
// whether the text is valid.
bool expr_time_parse (struct span text, const struct zone *zone, int64_t *ret_local);

// -- expressions

struct expr;

// The kinds of values that an expression gets from its caller.
enum expr_ref_kind {
    EXPR_REF_VARIABLE, // NAME or #NAME
    EXPR_REF_INPUT,    // the whole input; the expression itself reads its members
    EXPR_REF_STEP,     // steps.NAME.MEMBER: state, value, error
    EXPR_REF_RUN,      // run.MEMBER: id, flow, version, outcome, failed
    EXPR_REF_IDC,      // idc.MEMBER: shouldFireTime, actualFireTime, createTime, loadDate
    EXPR_REF_SELF,     // self.MEMBER: value, state
    EXPR_REF_ITEM,
    EXPR_REF_INDEX,
    EXPR_REF_RESULT
};

// Names are owned by the expression and NUL-terminated.
struct expr_ref {
    enum expr_ref_kind kind;
    const char *name;   // the variable or step; else "input", "run", "idc" ...
    const char *member; // the member of a step, run, idc or self, as listed above; else NULL
    int line, column;   // the place of its first use
};

// Compile one expression. This checks grammar, methods, statics, numbers of arguments, members of
// reserved names, and that steps[...] has a constant. The caller must check the names of variables
// and steps, which it gets from expr_refs. Returns 0 or a negative expr_code.
int expr_compile (struct span text, struct expr **ret, struct expr_error *error);
void expr_destroy (struct expr **self);

// Return the references of the expression, each once, in the order of their first use, and their
// number. The loop variable of map (), filter (), all () or any () is not a reference.
size_t expr_refs (const struct expr *self, const struct expr_ref **ret);

// Values for an evaluation.
struct expr_env {
    // Return 0 and the value of a reference, which must live as long as the result is used; or a
    // negative expr_code - EXPR_UNKNOWN: no such thing, EXPR_MISSING: no value (yet) - with the
    // reason, which may be left empty.
    int (*resolve) (void *context, const struct expr_ref *ref, struct expr_value *ret,
                    struct reason *reason);
    void *context;
    const struct zone *zone; // for epoch (); NULL: UTC
    // A step budget that several evaluations share, counted down; NULL: EXPR_STEPS_MAX. One
    // evaluation uses at most EXPR_STEPS_MAX even if the budget is larger.
    uint32_t *steps;
};

// Evaluate the expression. The same values give the same result. The result is valid as long as
// `memory`, `self` and the resolved values are. Returns 0, or a negative expr_code with `ret`
// untouched.
int expr_evaluate (const struct expr *self, const struct expr_env *env, struct expr_memory *memory,
                   struct expr_value *ret, struct expr_error *error);

// -- programs: "day = idc.loadDate; file = 'x' + day.format('yyyyMMdd')"

struct expr_line {
    char *name;
    struct expr *expr;
};

// Lines end with a newline or ; outside quotes. A line may use the names of earlier lines: the
// caller, who evaluates line by line, resolves them as variables.
struct expr_program {
    size_t count;
    struct expr_line lines[];
};

// Compile a program. Names must be unique and not reserved. 0 or a negative expr_code.
int expr_program_compile (struct span text, struct expr_program **ret, struct expr_error *error);
void expr_program_destroy (struct expr_program **self);

// Whether a name can be a variable: a letter or _, then letters, digits and _; at most 64 bytes,
// and not reserved (true false null in default has idc input steps run item index self result).
bool expr_name_valid (struct span name);
