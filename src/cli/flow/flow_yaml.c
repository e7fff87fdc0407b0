#include "flow_yaml.h"

#include <regex.h>
#include <string.h>
#include <yaml.h>

// A number in JSON's syntax: no "+", no leading zeros, no "1.", no hex.
static const char number_pattern[] = "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$";

// A mapping or sequence that is not complete yet, and the key whose value comes next.
struct yaml_level {
    json_t *value; // borrowed: the level above owns it, or it is the root
    char *key;     // owned; NULL: a key comes next, or `value` is a sequence
    size_t key_size;
};

struct yaml_reader {
    regex_t number;
    yaml_parser_t parser;
    yaml_event_t event; // the current one
    json_t *root;
    struct yaml_level levels[FLOW_YAML_DEPTH_MAX];
    size_t depth;
    struct reason *reason;
};

static bool refuse_line (struct yaml_reader *self, size_t line, const char *rule)
{
    reason_set (self->reason, "line %zu: %s", line + 1, rule);
    return false;
}

static bool refuse_event (struct yaml_reader *self, const char *rule)
{
    return refuse_line (self, self->event.start_mark.line, rule);
}

// -- scalars

// Convert a scalar to JSON; NULL with a reason. A plain one that is a literal or a number of JSON
// is that. An integer that exceeds 64 bits becomes a real number.
static json_t *scalar_value (struct yaml_reader *self)
{
    const char *text = (const char *)self->event.data.scalar.value;
    size_t size = self->event.data.scalar.length;
    json_t *value = NULL;
    if (self->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (size == 0)
            return refuse_event (self, "no value: write null, \"\", {} or []"), NULL;
        bool is_number = regexec (&self->number, text, 0, NULL, 0) == 0;
        value = json_loadb (text, size, JSON_DECODE_ANY, NULL);
        if (!value && is_number)
            value = json_loadb (text, size, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
        if (!value && is_number)
            refuse_event (self, "a number out of range");
        if (value || is_number)
            return value;
    }
    value = memchr (text, '\0', size) ? NULL : json_stringn (text, size);
    if (!value)
        refuse_event (self, "a string with a NUL");
    return value;
}

// -- containers

static void free_key (struct yaml_level *level)
{
    free (level->key);
    level->key = NULL;
}

// Add a value at the current position; its container owns it.
static bool value_add (struct yaml_reader *self, json_t *value)
{
    struct yaml_level *level = self->depth ? &self->levels[self->depth - 1] : NULL;
    if (!level)
        self->root = value;
    else if (json_is_array (level->value))
        json_array_append_new (level->value, value);
    else if (!level->key) {
        json_decref (value);
        return refuse_event (self, "a key must be a text");
    } else {
        json_object_setn_new (level->value, level->key, level->key_size, value);
        free_key (level);
    }
    return true;
}

static bool key_read (struct yaml_reader *self, struct yaml_level *level)
{
    const char *text = (const char *)self->event.data.scalar.value;
    size_t size = self->event.data.scalar.length;
    if (memchr (text, '\0', size))
        return refuse_event (self, "a key with a NUL");
    if (size == 2 && memcmp (text, "<<", 2) == 0 &&
        self->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return refuse_event (self, "merge keys are not allowed");
    if (json_object_getn (level->value, text, size)) {
        reason_set (self->reason, "line %zu: key %s twice", self->event.start_mark.line + 1,
                    quoted (span_of (text, size)));
        return false;
    }
    level->key = strndup (text, size);
    level->key_size = size;
    return true;
}

static bool scalar_read (struct yaml_reader *self)
{
    struct yaml_level *level = self->depth ? &self->levels[self->depth - 1] : NULL;
    if (self->event.data.scalar.anchor)
        return refuse_event (self, "anchors are not allowed");
    if (self->event.data.scalar.tag)
        return refuse_event (self, "tags are not allowed");
    if (level && json_is_object (level->value) && !level->key)
        return key_read (self, level);
    json_t *value = scalar_value (self);
    return value && value_add (self, value);
}

static bool level_open (struct yaml_reader *self, const yaml_char_t *anchor, const yaml_char_t *tag,
                        json_t *value)
{
    const char *rule = anchor                               ? "anchors are not allowed"
                       : tag                                ? "tags are not allowed"
                       : self->depth == FLOW_YAML_DEPTH_MAX ? "nested deeper than 64 levels"
                                                            : NULL;
    if (rule) {
        json_decref (value);
        return refuse_event (self, rule);
    }
    if (!value_add (self, value))
        return false;
    self->levels[self->depth++] = (struct yaml_level){.value = value};
    return true;
}

static bool event_read (struct yaml_reader *self)
{
    const yaml_event_t *event = &self->event;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return !self->root || refuse_event (self, "a second document");
    case YAML_ALIAS_EVENT:
        return refuse_event (self, "aliases are not allowed");
    case YAML_SCALAR_EVENT:
        return scalar_read (self);
    case YAML_SEQUENCE_START_EVENT:
        return level_open (self, event->data.sequence_start.anchor, event->data.sequence_start.tag,
                           json_array ());
    case YAML_MAPPING_START_EVENT:
        return level_open (self, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                           json_object ());
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        self->depth--;
        return true;
    default:
        return true;
    }
}

static bool stream_read (struct yaml_reader *self)
{
    for (bool more = true; more;) {
        if (!yaml_parser_parse (&self->parser, &self->event))
            return refuse_line (self, self->parser.problem_mark.line,
                                self->parser.problem ? self->parser.problem : "no YAML");
        more = self->event.type != YAML_STREAM_END_EVENT;
        bool taken = event_read (self);
        yaml_event_delete (&self->event);
        if (!taken)
            return false;
    }
    return self->root || refuse_line (self, 0, "empty");
}

json_t *flow_yaml_read (struct span text, struct reason *reason)
{
    struct yaml_reader self = {.reason = reason};
    reason_set (reason, "out of memory");
    if (regcomp (&self.number, number_pattern, REG_EXTENDED | REG_NOSUB))
        return NULL;
    if (!yaml_parser_initialize (&self.parser)) {
        regfree (&self.number);
        return NULL;
    }
    yaml_parser_set_input_string (&self.parser, text.data, text.size);
    yaml_parser_set_encoding (&self.parser, YAML_UTF8_ENCODING);
    bool read = stream_read (&self);
    yaml_parser_delete (&self.parser);
    regfree (&self.number);
    for (size_t i = 0; i < FLOW_YAML_DEPTH_MAX; i++)
        free_key (&self.levels[i]);
    if (!read) {
        json_decref (self.root);
        self.root = NULL;
    }
    return self.root;
}
