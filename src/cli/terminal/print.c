#include "print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "ident.h"
#include "json.h"
#include "status_names.h"
#include "memory.h"
#include "plan.h"
#include "schedule.h"
#include "utf8.h"
#include "width.h"

// -- bytes

static bool is_printable (uint32_t character)
{
    static const struct {
        uint32_t from, to;
    } refused[] = {
        {0, 0x1F},        {'\\', '\\'},     {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (character >= refused[i].from && character <= refused[i].to)
            return false;
    return true;
}

void write_bytes_allowing (FILE *file, struct span bytes, const char *allowed)
{
    size_t at = 0;
    while (at < bytes.size) {
        const uint8_t *character = bytes.data + at;
        size_t size = utf8_size (character, bytes.data + bytes.size);
        if (size > 0 && (is_printable (character_at (character, size)) ||
                         memchr (allowed, *character, strlen (allowed)))) {
            fwrite (character, 1, size, file);
            at += size;
            continue;
        }
        for (size_t end = at + (size ? size : 1); at < end; at++)
            fprintf (file, "\\x%02x", bytes.data[at]);
    }
}

void write_bytes (FILE *file, struct span bytes)
{
    write_bytes_allowing (file, bytes, "");
}

void write_error (FILE *file, struct span text)
{
    write_bytes_allowing (file, text, "\\");
}

void print_bytes (struct span bytes)
{
    write_bytes (stdout, bytes);
}

void print_between (const char *before, struct span bytes, const char *after)
{
    fputs (before, stdout);
    print_bytes (bytes);
    fputs (after, stdout);
}

void write_coloured (FILE *file, enum colour colour, struct span bytes)
{
    colour_on (file, colour);
    write_bytes (file, bytes);
    colour_off (file, colour);
}

FILE *text_open (char **ret_text, size_t *ret_size)
{
    *ret_text = NULL;
    FILE *file = open_memstream (ret_text, ret_size);
    if (!file)
        abort (); // only for lack of memory
    return file;
}

void write_argument (FILE *file, struct span bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    size_t safe = 0;
    while (safe < bytes.size &&
           (bytes.data[safe] >= 0x80 || memchr (plain, bytes.data[safe], sizeof plain - 1)))
        safe++;
    if (bytes.size && safe == bytes.size) {
        write_bytes (file, bytes);
        return;
    }
    fputc ('\'', file);
    for (size_t at = 0, end; at < bytes.size; at = end + 1) {
        end = at;
        while (end < bytes.size && bytes.data[end] != '\'')
            end++;
        write_bytes (file, span_of (bytes.data + at, end - at));
        if (end < bytes.size)
            fputs ("'\\''", file);
    }
    fputc ('\'', file);
}

int complain (const char *subject, struct span bytes)
{
    fprintf (stderr, "zplan: %s%s", subject ? subject : "", subject ? ": " : "");
    write_error (stderr, bytes);
    fputc ('\n', stderr);
    return EXIT_REFUSED;
}

void complain_line (const char *file, int64_t line, struct span bytes)
{
    char subject[180];
    snprintf (subject, sizeof subject, "%.150s:%" PRId64, file, line);
    complain (subject, bytes);
}

// -- JSON

uint8_t *frame_bytes (const json_t *value, size_t *ret_size)
{
    const json_t *encoded = json_object_get (value, "b64");
    uint8_t *bytes = memory_new (json_string_length (encoded ? encoded : value) + 1);
    if (json_to_frame (value, bytes, ret_size))
        return bytes;
    *ret_size = 0;
    free (bytes);
    return NULL;
}

void write_frame (FILE *file, const json_t *value)
{
    size_t size;
    uint8_t *bytes = frame_bytes (value, &size);
    if (bytes)
        write_bytes (file, span_of (bytes, size));
    else
        fputc ('-', file);
    free (bytes);
}

void print_column (struct span text, int width)
{
    print_bytes (text);
    printf ("%*s ", text.size < (size_t)width ? width - (int)text.size : 0, "");
}

bool bytes_begin (struct span bytes, const char *text)
{
    size_t size = strlen (text);
    return bytes.size >= size && memcmp (bytes.data, text, size) == 0;
}

struct span text_of (const json_t *string)
{
    return span_of (json_string_value (string), json_string_length (string));
}

json_int_t field_number (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

struct span field_text (const json_t *object, const char *name)
{
    return text_of (json_object_get (object, name));
}

bool field_is_true (const json_t *object, const char *name)
{
    return json_is_true (json_object_get (object, name));
}

enum { REAL_DIGITS = 15, REAL_DIGITS_MAX = 17, REAL_SIZE = 32 }; // 17 digits represent any number

// The least number of digits that represents this number exactly.
static int digits_of (double real)
{
    char text[REAL_SIZE];
    int digits = REAL_DIGITS;
    do
        snprintf (text, sizeof text, "%.*g", digits, real);
    while (strtod (text, NULL) != real && digits++ < REAL_DIGITS_MAX);
    return digits;
}

// Write dumped JSON, with DEL escaped: jansson escapes all other control characters.
static int write_dumped (const char *text, size_t size, void *file)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == 0x7F)
            fputs ("\\u007f", file);
        else
            fputc (text[i], file);
    }
    return 0;
}

// Write a scalar.
static void write_scalar (FILE *file, const json_t *value)
{
    size_t digits = json_is_real (value) ? (size_t)digits_of (json_real_value (value)) : 0;
    json_dump_callback (value, write_dumped, file,
                        JSON_ENSURE_ASCII | JSON_ENCODE_ANY | JSON_REAL_PRECISION (digits));
}

// Arrays and objects are not passed to json_dumps, because it uses one precision for all numbers.
void write_json (FILE *file, const json_t *value)
{
    const char *name, *separator = "";
    json_t *part;
    size_t i;
    if (!json_is_object (value) && !json_is_array (value)) {
        write_scalar (file, value);
        return;
    }
    fputc (json_is_array (value) ? '[' : '{', file);
    json_object_foreach ((json_t *)(uintptr_t)value, name, part)
    {
        json_t *key = json_string (name);
        fputs (separator, file);
        write_scalar (file, key);
        fputc (':', file);
        write_json (file, part);
        json_decref (key);
        separator = ",";
    }
    json_array_foreach (value, i, part)
    {
        fputs (separator, file);
        write_json (file, part);
        separator = ",";
    }
    fputc (json_is_array (value) ? ']' : '}', file);
}

void print_json (const json_t *value)
{
    write_json (stdout, value);
    putchar ('\n');
}

void print_json_new (json_t *value)
{
    print_json (value);
    json_decref (value);
}

void print_answer (const struct cli *cli, enum json_kind kind, const json_t *wire)
{
    if (strcmp (cli->json, "wire") == 0) {
        print_json (wire);
        return;
    }
    print_json_new (json_names (kind, wire));
}

void print_answer_new (const struct cli *cli, enum json_kind kind, json_t *wire)
{
    print_answer (cli, kind, wire);
    json_decref (wire);
}

// -- words

enum { TEXT_SIZE = MOMENT_SIZE, TEXTS_ROTATION = 16 };

// Format a text into the next of the static buffers; it is cut to TEXT_SIZE.
__attribute__ ((format (printf, 1, 2))) static const char *rotating_text (const char *format, ...)
{
    static char texts[TEXTS_ROTATION][TEXT_SIZE];
    static unsigned next;
    char *out = texts[next++ % TEXTS_ROTATION];
    va_list args;
    va_start (args, format);
    vsnprintf (out, TEXT_SIZE, format, args);
    va_end (args);
    return out;
}

const char *number_cell_text (const json_t *number)
{
    if (json_is_integer (number))
        return rotating_text ("%" JSON_INTEGER_FORMAT, json_integer_value (number));
    return !json_is_boolean (number) ? "-" : json_is_true (number) ? "yes" : "no";
}

static const char *styled_time (const json_t *seconds, enum moment_style style)
{
    char out[MOMENT_SIZE];
    double real = json_real_value (seconds); // 0 for an integer
    json_int_t time = json_is_real (seconds) && real > 0 && real < (double)SCHEDULE_TIME_MAX
                          ? (json_int_t)real
                          : json_integer_value (seconds);
    if (time == 0)
        return "-";
    if (time < 0 || time > SCHEDULE_TIME_MAX)
        return number_cell_text (seconds);
    return rotating_text ("%s", moment_text (time, display_get ()->now, style, out));
}

const char *time_cell_text (const json_t *seconds)
{
    return styled_time (seconds, display_get ()->times);
}

const char *time_line_text (const json_t *seconds)
{
    return styled_time (seconds, display_get ()->times_alone);
}

const char *time_rfc3339_text (const json_t *seconds)
{
    return styled_time (seconds, MOMENT_ABSOLUTE);
}

const char *duration_between_text (const json_t *from, const json_t *to)
{
    double took = json_number_value (to) - json_number_value (from);
    bool known = json_is_number (from) && json_is_number (to) && took >= 0 && took < 1e9;
    return known ? rotating_text ("%.3f s", took) : "-";
}

const char *id_hex_text (const json_t *id)
{
    char out[IDENT_SIZE];
    json_int_t number = json_integer_value (id);
    return number > 0 ? rotating_text ("%s", ident_text ((uint64_t)number, out)) : "-";
}

// The word for a number. A word that the station sent instead is returned, if it is safe to print.
static const char *table_word (const json_t *value, const char *word)
{
    if (json_is_integer (value))
        return word ? word : number_cell_text (value);
    const char *text = json_string_value (value);
    bool safe = text && *text && strspn (text, "abcdefghijklmnopqrstuvwxyz_-+ ") == strlen (text);
    return safe ? rotating_text ("%s", text) : "-";
}

static const char *type_word (const json_t *type)
{
    json_int_t number = json_integer_value (type);
    bool known = number >= 0 && number < SCHEDULE_TYPES;
    return table_word (type, known ? schedule_type_name ((enum schedule_type)number) : NULL);
}

// The number of a state; PLAN_STATES: not a state.
static enum plan_state state_of (const json_t *state)
{
    json_int_t number = json_integer_value (state);
    return number >= 0 && number < PLAN_STATES ? (enum plan_state)number : PLAN_STATES;
}

const char *state_wire_text (const json_t *value)
{
    enum plan_state state = state_of (value);
    return table_word (value, state < PLAN_STATES ? plan_state_name (state) : NULL);
}

const char *state_plain_text (const json_t *value)
{
    enum plan_state state = state_of (value);
    return table_word (value, state < PLAN_STATES ? plan_state_word (state) : NULL);
}

const char *verdict_name_text (const json_t *verdict)
{
    bool none = json_is_integer (verdict) && json_integer_value (verdict) == VERDICT_NONE;
    return none ? "-" : table_word (verdict, json_verdict_name (verdict));
}

// -- a run

// Strip the word of this status, with which results usually start.
static struct span without_status (struct span text, const json_t *status)
{
    json_int_t number = json_integer_value (status);
    const char *word = number > 0 && number <= UINT8_MAX ? status_word ((uint8_t)number) : "";
    size_t size = strlen (word);
    if (size == 0 || !bytes_begin (text, word))
        return text;
    if (text.size == size)
        return (struct span){0};
    bool ends = text.size > size + 2 && text.data[size] == ':' && text.data[size + 1] == ' ';
    return ends ? span_of (text.data + size + 2, text.size - size - 2) : text;
}

void write_reason (FILE *file, const char *before, const json_t *run)
{
    const json_t *reason = json_object_get (run, "reason");
    struct span text = without_status (text_of (reason), json_object_get (run, "status"));
    if (json_is_object (reason)) {
        fputs (before, file);
        write_frame (file, reason);
    } else if (text.size) {
        fputs (before, file);
        write_bytes (file, text);
    }
}

// -- a plan as JSON

json_t *plan_object (const json_t *plan)
{
    const json_t *id = json_object_get (plan, "plan_id");
    const json_t *state = json_object_get (plan, "plan_state");
    const json_t *type = json_object_get (plan, "plan_type");
    json_t *object = json_pack (
        "{s:s*, s:s*, s:s*}", "id", json_integer_value (id) > 0 ? id_hex_text (id) : NULL, "state",
        state ? state_wire_text (state) : NULL, "type", type ? type_word (type) : NULL);
    json_object_update_missing (object, (json_t *)(uintptr_t)plan);
    return object;
}

void print_plan (const struct cli *cli, const json_t *plan)
{
    print_answer_new (cli, JSON_PLAN, plan_object (plan));
}

// -- colours

enum colour state_colour (const json_t *state)
{
    static const enum colour colours[PLAN_STATES + 1] = {[PLAN_EXECUTE] = CYAN,
                                                         [PLAN_RETRY] = YELLOW,
                                                         [PLAN_PAUSE] = YELLOW,
                                                         [PLAN_ERROR] = RED,
                                                         [PLAN_CLOSE] = DIM};
    return colours[state_of (state)];
}

enum colour status_colour (const json_t *status)
{
    json_int_t number = json_integer_value (status);
    if (number == ZERO_STATUS_MISSED_ID)
        return YELLOW; // no run took place
    return number <= 0 ? PLAIN : number < ZERO_STATUS_ERROR_FLAG ? GREEN : RED;
}
