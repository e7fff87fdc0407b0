// Rows for expressions: a text, and its value as JSON or "!" and words of the error.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr_values.h"

#define ROWS(table) (sizeof (table) / sizeof *(table))

struct row {
    const char *text, *want;
};

static json_t *values;

static int set_up (void **state)
{
    (void)state;
    struct reason reason;
    values = expr_read_json (span_text (values_json), &reason);
    if (!values)
        fail_msg ("%s", reason.text);
    return 0;
}

static int tear_down (void **state)
{
    (void)state;
    json_decref (values);
    return 0;
}

// The value as text: JSON, but strings and times without quotes; or "! REASON".
static char *evaluate (struct span text, const struct zone *zone, uint32_t *steps)
{
    struct expr_error error = {.code = 0};
    struct expr *expr = NULL;
    struct expr_value value;
    char *got = NULL;
    size_t size;
    struct expr_memory *memory = expr_memory_new ();
    struct expr_env env = {
        .resolve = values_resolve, .context = values, .zone = zone, .steps = steps};
    int rc = expr_compile (text, &expr, &error);
    if (!rc)
        rc = expr_evaluate (expr, &env, memory, &value, &error);
    if (!rc && (value.type == EXPR_STRING || value.type == EXPR_TIME)) {
        struct span plain;
        rc = expr_text (&value, memory, &plain, &error);
        got = rc ? NULL : strndup ((const char *)plain.data, plain.size);
    } else if (!rc) {
        rc = expr_write_json (&value, 65536, &got, &size, &error);
    }
    if (rc && (rc != (int)error.code || asprintf (&got, "! %s", error.reason.text) < 0))
        fail_msg ("%.*s: returned %d, the error says %d", (int)text.size, (const char *)text.data,
                  rc, (int)error.code);
    expr_destroy (&expr);
    expr_memory_destroy (&memory);
    return got;
}

static void check_row (const struct row *row, const char *text)
{
    char *got = evaluate (span_text (text), NULL, NULL);
    bool error = row->want[0] == '!';
    bool same = error ? got[0] == '!' && strstr (got, row->want + 2) : !strcmp (got, row->want);
    if (!same)
        fail_msg ("%s became %s, not %s", text, got, row->want);
    free (got);
}

static void check_rows (const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_row (&rows[i], rows[i].text);
}

// The examples of the design, in its order; T, A and C are variables there.
static const struct row golden_rows[] = {
    {"#strParam + 'some'", "日本語xsome"},
    {"#strParam.subString(0, 3)", "日本語"},
    {"@Math@max(#p1, #p2)", "12"},
    {"T.plusMonths(-1).with(@TemporalAdjusters@lastDayOfMonth()).format('yyyyMMdd')", "20240229"},
    {"#k.plusDays(-20).format('yyyyMMdd')", "20240219"},
    {"T.withDayOfMonth(1).plusDays(-1).format('yyyy-MM-dd')", "2024-02-29"},
    {"#j.plusMonths(1).format('yyyy-MM-dd')", "2024-02-29"},
    {"#m.plusDays(-1).format('yyyy-MM-dd')", "2024-02-29"},
    {"#m.plusWeeks(-1).format('yyyy-MM-dd')", "2024-02-23"},
    {"#f.withDayOfMonth(31)", "! no such day: 2024-02-31"},
    {"#g.with(@lastDayOfMonth()).format(\"yyyy-MM-dd'T'HH:mm\")", "2023-02-28T08:30"},
    {"#f.with(@TemporalAdjusters@firstDayOfMonth()).format('yyyyMMdd')", "20240201"},
    {"#f.with(@firstDayOfYear()).format('yyyyMMdd')", "20240101"},
    {"#f.with(@lastDayOfYear()).format('yyyyMMdd')", "20241231"},
    {"@java.lang.Integer@MAX_VALUE", "2147483647"},
    {"@java.lang.Integer@MAX_VALUE + 1", "2147483648"},
    {"T.format('yyyy年MM月dd日')", "2024年03月31日"},
    {"T.plusMonths( - 1).format('MMdd')", "0229"},
    {"T.prevMonthEnd().format('yyyyMMdd')", "20240229"},
    {"T.monthEnd().format('yyyyMMdd')", "20240331"},
    {"T.nextMonthEnd().format('yyyyMMdd')", "20240430"},
    {"A.prevMonthEnd().format('yyyyMMdd')", "20240331"},
    {"A.monthEnd().format('yyyyMMdd')", "20240430"},
    {"C.format('yyyyMMdd')", "20240105"},
    {"'it''s'", "it's"},
    {"'http://x' + '/y' // tail", "http://x/y"},
    {"'a' + 1", "a1"},
    {"1 + 2 + 'a'", "3a"},
    {"1 + 2", "3"},
    {"'x' + #n", "! no text of null"},
    {"#nope", "! no such variable"},
    {"@Runtime@exec('id')", "! @Runtime@exec: no such static"},
    {"#strParam.subString(0, 9)", "! 0..9 of 4"},
    {"7 / 2", "3"},
    {"-7 / 2", "-3"},
    {"-7 % 3", "-1"},
    {"7 / 2.0", "3.5"},
    {"1 / 0", "! by zero"},
    {"9223372036854775807 + 1", "! overflow"},
    {"1 == 1.0", "true"},
    {"'1' == 1", "false"},
    {"'b' > 'a' && !(1 > 2)", "true"},
    {"1 < 'a'", "! integer, string"},
    {"#p1 > 2 ? 'many' : 'few'", "many"},
    {"#o['b-c']", "2"},
    {"#o.zz", "! missing"},
    {"default(#o.zz, 5)", "5"},
    {"has(#o.zz)", "false"},
    {"default(#n, 'none')", "none"},
    {"#xs[4]", "! missing: 4 of 4"},
    {"#xs.filter(x, x % 2 == 0).map(x, x * 10)", "[20,40]"},
    {"#rows.all(r, r.ok)", "false"},
    {"#rows.filter(r, r.ok).map(r, r.id)[0]", "7"},
    {"#xs.sum() + #xs.size()", "14"},
    {"#xs.map(x, 'p' + x).join(',')", "p1,p2,p3,p4"},
    {"'1x'.toInt()", "! no integer"},
    {"T < A", "true"},
    {"T.format('QQ')", "! no letter 'Q'"},
    {"#p1.plusDays(1)", "! no such method"},
    {"true || #nope", "true"},
    {"1 +", "! column 4"},
};

static void test_golden (void **state)
{
    (void)state;
    check_rows (golden_rows, ROWS (golden_rows));
}

static const struct row literal_rows[] = {
    {"0", "0"},
    {"007", "7"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "! overflow"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"- 9223372036854775808", "-9223372036854775808"},
    {"--9223372036854775808", "! overflow"},
    {"-(9223372036854775808)", "! overflow"},
    {"1 - 9223372036854775808", "! overflow"},
    {"-9223372036854775809", "! overflow"},
    {"99999999999999999999999999", "! overflow"},
    {"1.5", "1.5"},
    {"1.0", "1.0"},
    {"0.1", "0.1"},
    {"0.1 + 0.2", "0.30000000000000004"},
    {"1e3", "1000.0"},
    {"1E+3", "1000.0"},
    {"25e-1", "2.5"},
    {"1e15", "1000000000000000.0"},
    {"1e16", "1e+16"},
    {"1.25e300", "1.25e+300"},
    {"0.0001", "0.0001"},
    {"0.00001", "1e-05"},
    {"123456.789", "123456.789"},
    {"5e-324", "5e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"1e999", "! overflow"},
    {"-0.0", "-0.0"},
    {"1.", "! column 3"},
    {".5", "! column 1"},
    {"1e", "! column 2"},
    {"12abc", "! column 3"},
    {"1.5.size()", "! no such method"},
    {"true", "true"},
    {"false", "false"},
    {"null", "null"},
    {"True", "! no such variable"},
    {"''", ""},
    {"''''", "'"},
    {"'a\nb'", "a\nb"},
    {"'//;#'", "//;#"},
    {"\"a\\n\\t\\\"\\\\\\/\\u00e9\\u65e5\\ud83d\\ude00\"", "a\n\t\"\\/é日😀"},
    {"\"it's\"", "it's"},
    {"\"\\x\"", "! escape"},
    {"\"\\u12g4\"", "! hex digits"},
    {"\"\\ud83d\"", "! hex digits"},
    {"\"\\ude00\"", "! hex digits"},
    {"\"\\ud83d\\u0041\"", "! hex digits"},
    {"\"\\u0000\"", "! NUL"},
    {"\"a\nb\"", "! control character"},
    {"1 + 'abc", "! column 5: the string is not closed"},
    {"1 + \"abc", "! column 5: the string is not closed"},
    {"\"abc\\", "! escape"},
    {"[]", "[]"},
    {"[1, 'a', [null, true], 2.0]", "[1,\"a\",[null,true],2.0]"},
    {"[1, 2,]", "! column 7"},
    {"[1 2]", "! column 4"},
    {"", "! column 1"},
    {"  ", "! column 3"},
    {"// only a comment", "! the text ends"},
    {"1 // one\n + 2", "3"},
    {"1\r\n+\t2", "3"},
    {"1\n+\n+", "! line 3, column 1"},
    {"1 +\n  'é' + #n", "! line 2, column 7: no text of null"},
    {"1 ; 2", "! column 3"},
    {"1 $ 2", "! column 3"},
    {"日", "! column 1"},
    {"'日本' $", "! column 6"},
    {"1 2", "! column 3: unexpected '2'"},
    {"a = 1", "! column 3"},
    {"(1", "! column 3"},
    {"1)", "! column 2"},
    {"# p1", "3"},
    {"#", "! column 2"},
    {"##p1", "! column 2"},
    {"#true", "! reserved"},
    {"in", "! reserved"},
    {"#default(1, 2)", "! reserved"},
    {"nope(1)", "! no such function"},
};

static void test_literals (void **state)
{
    (void)state;
    check_rows (literal_rows, ROWS (literal_rows));
}

static const struct row operator_rows[] = {
    {"2 + 3 * 4", "14"},
    {"(2 + 3) * 4", "20"},
    {"10 - 3 - 2", "5"},
    {"100 / 10 / 2", "5"},
    {"7 % 4 % 2", "1"},
    {"7 / -2", "-3"},
    {"7 % -3", "1"},
    {"7.5 % 2", "1.5"},
    {"-7.5 % 2", "-1.5"},
    {"1 % 0", "! by zero"},
    {"1.0 / 0", "! by zero"},
    {"1 / 0.0", "! by zero"},
    {"1 % 0.0", "! by zero"},
    {"-9223372036854775808 / -1", "! overflow"},
    {"-9223372036854775808 % -1", "0"},
    {"-(-9223372036854775807 - 1)", "! overflow"},
    {"-9223372036854775807 - 2", "! overflow"},
    {"4611686018427387904 * 2", "! overflow"},
    {"1e308 * 10", "! overflow"},
    {"1 + 0.5", "1.5"},
    {"3 * 1.0", "3.0"},
    {"--3", "3"},
    {"-#p1", "-3"},
    {"!!true", "true"},
    {"!1", "! want boolean, got integer"},
    {"-'a'", "! no - of string"},
    {"-true", "! no - of boolean"},
    {"1 + true", "! no + of integer, boolean"},
    {"1 + null", "! no + of integer, null"},
    {"[1] + [2]", "! no + of list, list"},
    {"T + 1", "! no + of time, integer"},
    {"'a' - 'b'", "! no - of string, string"},
    {"'a' * 2", "! no * of string, integer"},
    {"'x' + 1.5", "x1.5"},
    {"2.0 + 'x'", "2.0x"},
    {"'x' + 1e20", "x1e+20"},
    {"true + 'x'", "truex"},
    {"'x' + T", "x2024-03-31T08:30:00"},
    {"'x' + [1]", "! no text of list"},
    {"'x' + #o", "! no text of object"},
    {"null + 'x'", "! no text of null"},
    {"'a' + 1 + 2", "a12"},
    {"1 < 2", "true"},
    {"2 <= 1", "false"},
    {"1.5 > 1", "true"},
    {"1 >= 1.0", "true"},
    {"1 < 2 < 3", "! column 7"},
    {"1 == 1 == true", "! column 8"},
    {"(1 == 1) == true", "true"},
    {"'a' < 'b'", "true"},
    {"'a' < 'ab'", "true"},
    {"'' < 'a'", "true"},
    {"'Z' < 'a'", "true"},
    {"'\uffff' < '\U0001f600'", "true"},
    {"'日' >= '日'", "true"},
    {"true < false", "! no order of boolean, boolean"},
    {"null < null", "! no order of null, null"},
    {"[1] < [2]", "! no order of list, list"},
    {"T > 1", "! no order of time, integer"},
    {"A > T", "true"},
    {"null == null", "true"},
    {"null == 0", "false"},
    {"#n != null", "false"},
    {"1 != 1.5", "true"},
    {"true == 1", "false"},
    {"T == '2024-03-31T08:30:00'", "false"},
    {"T == T.plusDays(0)", "true"},
    {"[1, [2.0, 'a']] == [1.0, [2, 'a']]", "true"},
    {"[1, 2] == [1]", "false"},
    {"[1, 2] == [2, 1]", "false"},
    {"#o == #o", "true"},
    {"#rows[0] == #rows[1]", "false"},
    {"#o == #xs", "false"},
    {"#xs == [1, 2, 3, 4]", "true"},
    {"2 in #xs", "true"},
    {"2.0 in #xs", "true"},
    {"'2' in #xs", "false"},
    {"null in [null]", "true"},
    {"[1] in [[1], 2]", "true"},
    {"'a' in #o", "true"},
    {"'zz' in #o", "false"},
    {"1 in #o", "! no in of integer, object"},
    {"'a' in 'abc'", "! no in of string, string"},
    {"1 in null", "! no in of integer, null"},
    {"true && 1", "! want boolean, got integer"},
    {"1 && true", "! want boolean, got integer"},
    {"false && 1", "false"},
    {"true || 1 / 0 == 1", "true"},
    {"false || 1", "! want boolean"},
    {"null || true", "! want boolean, got null"},
    {"true || false && false", "true"},
    {"(true || false) && false", "false"},
    {"false || false || true", "true"},
    {"1 ? 2 : 3", "! want boolean"},
    {"true ? 1 : 1 / 0", "1"},
    {"false ? 1 / 0 : 2", "2"},
    {"false ? 1 : true ? 2 : 3", "2"},
    {"true ? false ? 1 : 2 : 3", "2"},
    {"true ? 1", "! column 9"},
    {"1 + 1 == 2 ? 'y' : 'n'", "y"},
    {"!true == false", "true"},
    {"-1 + 2", "1"},
    {"2 - -1", "3"},
    {"1 + + 2", "! column 5"},
    {"8 / / 2", "! column 5"},
    {"8 // 2", "8"},
};

static void test_operators (void **state)
{
    (void)state;
    check_rows (operator_rows, ROWS (operator_rows));
}

static const struct row reference_rows[] = {
    {"p1", "3"},
    {"#input.order", "5"},
    {"input.amount > 1000", "false"},
    {"input['order']", "5"},
    {"input.deep.a[1].b", "null"},
    {"input.deep.a[1].b.c", "! missing"},
    {"default(input.deep.a[1].b.c, 0)", "0"},
    {"#n.x", "! missing"},
    {"#n[0]", "! missing"},
    {"#n['x']", "! missing"},
    {"#p1.x", "! no member 'x' of integer"},
    {"default(#p1.x, 1)", "! no member"},
    {"#xs['a']", "! no index string of list"},
    {"#xs[1.0]", "! no index decimal of list"},
    {"#xs[-1]", "! missing: -1 of 4"},
    {"#o[0]", "! no index integer of object"},
    {"'abc'[0]", "! no index integer of string"},
    {"#xs[#xs[0]]", "2"},
    {"item.path", "/a"},
    {"#index + 1", "8"},
    {"result.done", "true"},
    {"steps.load.value.rows", "17"},
    {"steps.load.state", "finished"},
    {"steps['load'].value", "{\"rows\":17}"},
    {"steps['my-step'].value[0]", "1"},
    {"steps['my-step']['value'][0]", "1"},
    {"steps.late.value", "! missing: late has not ended"},
    {"default(steps.late.value, 'x')", "x"},
    {"has(steps.late.value)", "false"},
    {"has(steps.load.value.rows)", "true"},
    {"steps.other.value", "! no such variable: steps.'other'.value"},
    {"has(steps.other.value)", "! no such variable"},
    {"steps.load", "! steps.NAME.value"},
    {"steps", "! steps.NAME.value"},
    {"steps.size()", "! column 11"},
    {"steps[p1].value", "! constant in quotes"},
    {"steps['a' + 'b'].value", "! column 11"},
    {"steps.load.start", "! column 12: steps has no member 'start'"},
    {"run.id + run.flow", "1fetl"},
    {"run.outcome", "failed"},
    {"run.failed[0]", "load"},
    {"run.other", "! no member"},
    {"run", "! want a member"},
    {"self.value.booking", "B1"},
    {"self.state", "finished"},
    {"self.error", "! no member"},
    {"idc.shouldFireTime.day()", "31"},
    {"idc.loadDate", "2024-03-30T00:00:00"},
    {"#idc.createTime.month()", "1"},
    {"idc.now", "! no member"},
    {"big", "1.2345678901234567e+19"},
    {"#o.a", "1"},
    {"#o.in", "! missing"},
    {"#o.default", "! missing"},
    {"has(#n)", "true"},
    {"has(1 / 0)", "! by zero"},
    {"has(#nope)", "! no such variable"},
    {"has()", "! column 5"},
    {"has(1, 2)", "! column 6"},
    {"default(1)", "! column 10"},
    {"default(1, 2, 3)", "! column 13"},
    {"default(#o.a, 1 / 0)", "1"},
    {"default(#o.zz, #o.yy)", "! missing: 'yy'"},
    {"default(default(#o.zz, #o.yy), 3)", "3"},
    {"default(null, null)", "null"},
    {"default(#xs.map(x, #o.zz), 4)", "4"},
    {"#xs.map(x, default(#o.zz, x))", "[1,2,3,4]"},
    {"#xs.map(x, default(#xs[x], 0))", "[2,3,4,0]"},
    {"[1, default([2, #o.zz], 3)]", "[1,3]"},
    {"has(#o.a) && #o.a == 1", "true"},
};

static void test_references (void **state)
{
    (void)state;
    check_rows (reference_rows, ROWS (reference_rows));
}

static const struct row method_rows[] = {
    {"'日本語x'.length()", "4"},
    {"''.length()", "0"},
    {"'日本語x'.substring(3)", "x"},
    {"'日本語x'.substring(4)", ""},
    {"'日本語x'.substring(1, 1)", ""},
    {"'日本語x'.substring(-1)", "! -1..4 of 4"},
    {"'abc'.substring(2, 1)", "! 2..1 of 3"},
    {"'abc'.substring()", "! substring takes 1 to 2 arguments, not 0"},
    {"'abc'.substring(1, 2, 3)", "! not 3"},
    {"'abc'.substring('1')", "! substring: want integer, got string"},
    {"'abc'.substring(1.0)", "! want integer, got decimal"},
    {"'aäÄz'.upper()", "AäÄZ"},
    {"'AÄä[Z'.lower()", "aÄä[z"},
    {"' \t\n a b \r\n'.trim()", "a b"},
    {"'   '.trim()", ""},
    {"'abc'.contains('bc')", "true"},
    {"'abc'.contains('')", "true"},
    {"''.contains('a')", "false"},
    {"'abc'.startsWith('ab')", "true"},
    {"'abc'.startsWith('abcd')", "false"},
    {"'abc'.endsWith('bc')", "true"},
    {"'abc'.endsWith('ab')", "false"},
    {"'abc'.endsWith('')", "true"},
    {"'日本語'.indexOf('語')", "2"},
    {"'abc'.indexOf('x')", "-1"},
    {"'abc'.indexOf('')", "0"},
    {"'abc'.indexOf(1)", "! indexOf: want string, got integer"},
    {"'aaa'.replace('a', 'bb')", "bbbbbb"},
    {"'aaa'.replace('aa', '')", "a"},
    {"'abc'.replace('x', 'y')", "abc"},
    {"'abc'.replace('', 'y')", "! replace: the string to find is empty"},
    {"'a,b,,c'.split(',')", "[\"a\",\"b\",\"\",\"c\"]"},
    {"''.split(',')", "[\"\"]"},
    {"','.split(',')", "[\"\",\"\"]"},
    {"'abc'.split('')", "! split: the string to find is empty"},
    {"'12'.toInt() + 1", "13"},
    {"'-9223372036854775808'.toInt()", "-9223372036854775808"},
    {"'9223372036854775808'.toInt()", "! no integer"},
    {"' 1'.toInt()", "! no integer"},
    {"'+1'.toInt()", "! no integer"},
    {"'-'.toInt()", "! no integer"},
    {"''.toInt()", "! no integer"},
    {"'1.5'.toInt()", "! no integer"},
    {"'1.5'.toDecimal()", "1.5"},
    {"'-2'.toDecimal()", "-2.0"},
    {"'1e3'.toDecimal()", "1000.0"},
    {"'2.5E-1'.toDecimal()", "0.25"},
    {"'1.'.toDecimal()", "! no decimal"},
    {"'.5'.toDecimal()", "! no decimal"},
    {"'1e'.toDecimal()", "! no decimal"},
    {"'1e+'.toDecimal()", "! no decimal"},
    {"'1e999'.toDecimal()", "! no decimal"},
    {"'nan'.toDecimal()", "! no decimal"},
    {"'inf'.toDecimal()", "! no decimal"},
    {"'0x10'.toDecimal()", "! no decimal"},
    {"[].size()", "0"},
    {"#o.size()", "2"},
    {"#o.keys()", "[\"a\",\"b-c\"]"},
    {"'abc'.size()", "! no such method: size of string"},
    {"#xs.length()", "! no such method: length of list"},
    {"#n.size()", "! no such method: size of null"},
    {"['a', 'b'].join('')", "ab"},
    {"[].join(',')", ""},
    {"[1].join(',')", "! join: item 0: want string, got integer"},
    {"['a', null].join(',')", "! join: item 1: want string, got null"},
    {"[1, 2.5].sum()", "3.5"},
    {"[].sum()", "0"},
    {"['a'].sum()", "! sum: item 0: want a number, got string"},
    {"[9223372036854775807, 1].sum()", "! overflow"},
    {"[3, 1, 2].min()", "1"},
    {"[3, 1, 4.5].max()", "4.5"},
    {"['b', 'a'].max()", "b"},
    {"[A, T].min()", "2024-03-31T08:30:00"},
    {"[1, 'a'].max()", "! no order of string, integer"},
    {"[null].max()", "! no order of null, null"},
    {"[true].min()", "! no order of boolean"},
    {"[].max()", "! missing: the list is empty"},
    {"#xs.first() + #xs.last()", "5"},
    {"[].first()", "! missing"},
    {"default([].last(), 'none')", "none"},
    {"#xs.map(x, x).map(y, y + 1)", "[2,3,4,5]"},
    {"#xs.map(x, #xs.map(y, x * y))[3]", "[4,8,12,16]"},
    {"#xs.map(x, #xs.filter(x, x > 2))[0]", "[3,4]"},
    {"#xs.map(p1, p1 + #p1)", "[2,4,6,8]"},
    {"#xs.filter(x, x)", "! want boolean, got integer"},
    {"#xs.all(x, x > 0)", "true"},
    {"#xs.any(x, x > 3)", "true"},
    {"#xs.any(x, x > 4)", "false"},
    {"#xs.any(x, x == 1 || 1 / 0 == 1)", "true"},
    {"[].all(x, 1)", "true"},
    {"[].any(x, 1)", "false"},
    {"[].map(x, 1 / 0)", "[]"},
    {"[].filter(x, 1)", "[]"},
    {"#o.map(x, x)", "! no such method"},
    {"#n.map(x, x)", "! no such method"},
    {"#xs.map(x x)", "! column 11"},
    {"#xs.map(1, x)", "! a name for the item"},
    {"#xs.map(item, item)", "! reserved"},
    {"#xs.map(true, 1)", "! reserved"},
    {"#xs.map(x, x) + x", "! no such variable"},
    {"#xs.map(x)", "! column 10"},
    {"#xs.nope()", "! column 5: no such method: 'nope'"},
    {"#xs.nope", "! no member 'nope' of list"},
    {"@Math@max(1, 2.5)", "2.5"},
    {"@Math@max(3, 2.5)", "3.0"},
    {"@java.lang.Math@min(3, 4)", "3"},
    {"@Math@abs(-3)", "3"},
    {"@Math@abs(-3.5)", "3.5"},
    {"@Math@abs(-9223372036854775808)", "! overflow"},
    {"@Math@abs('a')", "! abs: want a number, got string"},
    {"@Math@max(1)", "! max takes 2 arguments, not 1"},
    {"@Math@max", "! arguments"},
    {"@Math@sqrt(4)", "! @Math@sqrt: no such static"},
    {"@Long@MIN_VALUE", "-9223372036854775808"},
    {"@java.lang.Long@MAX_VALUE", "9223372036854775807"},
    {"@Integer@MIN_VALUE", "-2147483648"},
    {"@java.util.Integer@MIN_VALUE", "! no such static"},
    {"@MAX_VALUE", "! @MAX_VALUE: no such static"},
    {"@java.lang.Integer@MAX_VALUE()", "! unexpected '('"},
    {"@lastDayOfMonth()", "! argument of with"},
    {"@TemporalAdjusters@nope()", "! no such static"},
    {"@", "! column 2"},
    {"@Math@", "! column 7"},
    {"@a@b@c()", "! no such static"},
};

static void test_methods (void **state)
{
    (void)state;
    check_rows (method_rows, ROWS (method_rows));
}

static const struct row time_method_rows[] = {
    {"f", "2024-02-10T08:30:00"},
    {"f.plusYears(1)", "2025-02-10T08:30:00"},
    {"f.withDayOfMonth(29).plusYears(1)", "2025-02-28T08:30:00"},
    {"f.withDayOfMonth(29).withYear(2023)", "2023-02-28T08:30:00"},
    {"j.withMonth(2)", "2024-02-29T00:00:00"},
    {"j.withMonth(13)", "! no such month: 13"},
    {"j.withMonth(0)", "! no such month: 0"},
    {"j.withYear(0)", "! 0001..9999"},
    {"j.withYear(9999).plusDays(335)", "! 0001..9999"},
    {"j.withYear(1).plusDays(-31)", "! 0001..9999"},
    {"j.withYear(1).plusDays(-30)", "0001-01-01T00:00:00"},
    {"j.withYear(9999).plusMonths(11)", "9999-12-31T00:00:00"},
    {"j.withYear(9999).plusMonths(12)", "! 0001..9999"},
    {"j.withYear(1).plusMonths(-1)", "! 0001..9999"},
    {"j.plusMonths(9223372036854775807)", "! 0001..9999"},
    {"j.plusYears(9223372036854775807)", "! 0001..9999"},
    {"j.plusYears(-9223372036854775808)", "! 0001..9999"},
    {"j.plusWeeks(9223372036854775807)", "! 0001..9999"},
    {"j.plusSeconds(9223372036854775807)", "! 0001..9999"},
    {"j.plusSeconds(-9223372036854775808)", "! 0001..9999"},
    {"j.plusMonths(13)", "2025-02-28T00:00:00"},
    {"j.plusMonths(-13)", "2022-12-31T00:00:00"},
    {"f.plusHours(16)", "2024-02-11T00:30:00"},
    {"f.plusMinutes(-31)", "2024-02-10T07:59:00"},
    {"f.plusSeconds(86400)", "2024-02-11T08:30:00"},
    {"f.plusDays('1')", "! plusDays: want integer, got string"},
    {"f.plusDays(1.0)", "! plusDays: want integer, got decimal"},
    {"f.plusDays()", "! plusDays takes 1 argument, not 0"},
    {"f.plusDays(1, 2)", "! not 2"},
    {"f.withDayOfMonth(0)", "! no such day: 2024-02-00"},
    {"f.withDayOfMonth(29)", "2024-02-29T08:30:00"},
    {"g.withDayOfMonth(29)", "! no such day: 2023-02-29"},
    {"f.with(@firstDayOfNextMonth())", "2024-03-01T08:30:00"},
    {"f.with(@firstDayOfNextYear())", "2025-01-01T08:30:00"},
    {"f.with(@TemporalAdjusters@firstDayOfNextYear())", "2025-01-01T08:30:00"},
    {"f.withYear(9999).with(@firstDayOfNextYear())", "! 0001..9999"},
    {"f.with(@firstDayOfNextMonth)", "! want ("},
    {"f.with(1)", "! an adjuster"},
    {"f.with()", "! an adjuster"},
    {"f.with(@Math@max(1, 2))", "! no such static"},
    {"'a'.with(@lastDayOfMonth())", "! no such method: with of string"},
    {"j.prevMonthEnd()", "2023-12-31T00:00:00"},
    {"f.monthEnd()", "2024-02-29T08:30:00"},
    {"j.nextMonthEnd()", "2024-02-29T00:00:00"},
    {"f.year() + f.month() + f.day() + f.hour()", "2044"},
    {"f.dayOfWeek()", "6"},
    {"f.plusDays(1).dayOfWeek()", "7"},
    {"f.plusDays(2).dayOfWeek()", "1"},
    {"f.epoch()", "1707553800"},
    {"f.format('yy M d H h m s')", "24 2 10 8 8 30 0"},
    {"f.format('yyyy MM dd HH hh mm ss')", "2024 02 10 08 08 30 00"},
    {"f.format('D DD DDD')", "41 41 041"},
    {"f.monthEnd().plusMonths(10).format('D')", "364"},
    {"f.format('MMM MMMM E EEEE a')", "Feb February Sat Saturday AM"},
    {"f.plusHours(4).format('h a')", "12 PM"},
    {"f.plusHours(-8).format('h a')", "12 AM"},
    {"f.plusHours(13).format('hh a')", "09 PM"},
    {"f.format('S SSS SSSSSSSSS')", "0 000 000000000"},
    {"f.format('SSSSSSSSSS')", "! no letter 'S' of 10"},
    {"f.format('ddd')", "! no letter 'd' of 3"},
    {"f.format('y')", "! no letter 'y' of 1"},
    {"f.format('yyy')", "! no letter 'y' of 3"},
    {"f.format('EE')", "! no letter 'E' of 2"},
    {"f.format('aa')", "! no letter 'a' of 2"},
    {"f.format('u')", "! no letter 'u'"},
    {"f.format('MMMMM')", "! no letter 'M' of 5"},
    {"f.format(\"'day' d ''\")", "day 10 '"},
    {"f.format(\"'it''s'\")", "it's"},
    {"f.format(\"''''\")", "'"},
    {"f.format(\"'''a'd''\")", "'a10'"},
    {"f.format(\"d 'open\")", "! open quote"},
    {"f.format(\"'\")", "! open quote"},
    {"f.format('')", ""},
    {"f.format('年[]{}#-/.日')", "年[]{}#-/.日"},
    {"j.withYear(7).format('yyyy yy')", "0007 07"},
    {"f.format(1)", "! format: want string, got integer"},
    {"'x' + f.withYear(12)", "x0012-02-10T08:30:00"},
};

static void test_times (void **state)
{
    (void)state;
    check_rows (time_method_rows, ROWS (time_method_rows));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_golden),    cmocka_unit_test (test_literals),
        cmocka_unit_test (test_operators), cmocka_unit_test (test_references),
        cmocka_unit_test (test_methods),   cmocka_unit_test (test_times),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
