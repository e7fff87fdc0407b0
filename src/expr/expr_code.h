// The code of an expression: operations on a stack of values. Evaluation does not recurse, so
// neither nesting nor long chains of operators use the stack of the process.
#pragma once

#include "expr_value.h"

enum expr_op_code {
    OP_CONSTANT, // push constants[argument]
    OP_REF,      // push the value of refs[argument]
    OP_LOCAL,    // push the item of loop number `argument`, counted from the outermost
    OP_LIST,     // pop `argument` values, push their list
    OP_NOT,      // negate the top boolean
    OP_NEGATE,   // negate the top number
    OP_ADD,      // OP_ADD .. OP_IN: pop two values, push the result
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_IN,
    OP_AND,     // if the top boolean is false go to `argument`, else pop it
    OP_OR,      // if the top boolean is true go to `argument`, else pop it
    OP_BOOLEAN, // check that the top value is a boolean
    OP_BRANCH,  // pop a boolean; if it is false go to `argument`
    OP_JUMP,    // go to `argument`
    OP_MEMBER,  // pop an object, push its member constants[argument]
    OP_INDEX,   // pop an index and a list or object, push the item or member
    OP_METHOD,  // pop `count` arguments and a value, push the result of methods[argument]
    OP_WITH,    // apply adjusters[argument] to the top value, a time
    OP_STATIC,  // pop `count` arguments, push the result of functions[argument]
    OP_LOOP,    // pop a list, begin a loop of the kind `count` over it; if it is empty push the
                // result and go to `argument`
    OP_NEXT,    // pop the value computed for an item; go to `argument` for the next item, or push
                // the result
    OP_TRY,     // until OP_DEFAULT or OP_HAS, EXPR_MISSING continues at `argument`
    OP_DEFAULT, // end OP_TRY: if the top value is null pop it, else go to `argument`
    OP_HAS      // end OP_TRY: replace the top value by true, go to `argument`
};

enum expr_loop_kind { LOOP_MAP, LOOP_FILTER, LOOP_ALL, LOOP_ANY };

struct expr_op {
    uint8_t code; // enum expr_op_code
    uint16_t count;
    uint32_t argument;
    int line, column; // the place of the operator or name
};

// Immutable once compiled.
struct expr {
    struct expr_op *ops;
    struct expr_value *constants;
    struct expr_ref *refs;
    char *pool; // bytes of the strings in `constants` and of the names in `refs`
    size_t op_count, constant_count, ref_count;
    size_t stack_size; // upper bound of the number of values on the stack
};

// Set an error at a place of the text; the reason begins with it. Returns false.
bool expr_error_at (struct expr_error *error, enum expr_code code, int line, int column,
                    const char *format, ...) __attribute__ ((format (printf, 5, 6)));
