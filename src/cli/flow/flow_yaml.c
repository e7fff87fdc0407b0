#include "flow_yaml.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "memory.h"

// A number in JSON's syntax: no "+", no leading zeros, no "1.", no hex.
static const char number_pattern[] = "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$";

struct yaml_reader {
    regex_t number;
    yaml_parser_t parser;
    yaml_event_t event; // the current one
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

// Read the next event. False with a reason.
static bool next_event (struct yaml_reader *self)
{
    yaml_event_delete (&self->event);
    return yaml_parser_parse (&self->parser, &self->event) ||
           refuse_line (self, self->parser.problem_mark.line,
                        self->parser.problem ? self->parser.problem : "no YAML");
}

// -- scalars

// Convert a scalar to JSON; NULL with a reason. A plain scalar that is a literal or number in
// JSON's syntax keeps that type. An integer that exceeds 64 bits becomes a real number.
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

// -- nodes

// Check a node that begins; `depth` is the number of mappings and sequences around it.
static bool check_node (struct yaml_reader *self, size_t depth)
{
    // Scalars, sequences and mappings begin with the same members.
    const yaml_event_t *event = &self->event;
    const char *rule = event->type == YAML_ALIAS_EVENT ? "aliases are not allowed"
                       : event->data.scalar.anchor     ? "anchors are not allowed"
                       : event->data.scalar.tag        ? "tags are not allowed"
                       : event->type != YAML_SCALAR_EVENT && depth == FLOW_YAML_DEPTH_MAX
                           ? "nested deeper than 64 levels"
                           : NULL;
    return !rule || refuse_event (self, rule);
}

// Copy the key that begins a member of the object; NULL with a reason.
static char *read_key (struct yaml_reader *self, const json_t *object, size_t depth)
{
    if (!check_node (self, depth))
        return NULL;
    if (self->event.type != YAML_SCALAR_EVENT)
        return refuse_event (self, "a key must be a text"), NULL;
    const char *text = (const char *)self->event.data.scalar.value;
    size_t size = self->event.data.scalar.length;
    if (memchr (text, '\0', size))
        return refuse_event (self, "a key with a NUL"), NULL;
    if (strcmp (text, "<<") == 0 && self->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return refuse_event (self, "merge keys are not allowed"), NULL;
    if (!json_object_get (object, text))
        return memory_text (text);
    reason_set (self->reason, "line %zu: key %s twice", self->event.start_mark.line + 1,
                quoted (span_of (text, size)));
    return NULL;
}

static json_t *read_node (struct yaml_reader *self, size_t depth);

static json_t *read_mapping (struct yaml_reader *self, size_t depth)
{
    json_t *object = json_object ();
    for (bool added = true; added && next_event (self);) {
        if (self->event.type == YAML_MAPPING_END_EVENT)
            return object;
        char *key = read_key (self, object, depth);
        added = key && next_event (self) &&
                json_object_set_new (object, key, read_node (self, depth)) == 0;
        free (key);
    }
    json_decref (object);
    return NULL;
}

static json_t *read_sequence (struct yaml_reader *self, size_t depth)
{
    json_t *list = json_array ();
    for (bool added = true; added && next_event (self);) {
        if (self->event.type == YAML_SEQUENCE_END_EVENT)
            return list;
        added = json_array_append_new (list, read_node (self, depth)) == 0;
    }
    json_decref (list);
    return NULL;
}

// Read the node that begins with the current event, up to its last one. NULL with a reason.
static json_t *read_node (struct yaml_reader *self, size_t depth)
{
    if (!check_node (self, depth))
        return NULL;
    return self->event.type == YAML_SCALAR_EVENT          ? scalar_value (self)
           : self->event.type == YAML_MAPPING_START_EVENT ? read_mapping (self, depth + 1)
                                                          : read_sequence (self, depth + 1);
}

// Read the only document. NULL with a reason.
static json_t *read_document (struct yaml_reader *self)
{
    if (!next_event (self) || !next_event (self)) // the starts of the stream and of the document
        return NULL;
    if (self->event.type == YAML_STREAM_END_EVENT)
        return refuse_line (self, 0, "empty"), NULL;
    json_t *root = next_event (self) ? read_node (self, 0) : NULL;
    if (root && next_event (self) && next_event (self)) { // the ends of both
        if (self->event.type == YAML_STREAM_END_EVENT)
            return root;
        refuse_event (self, "a second document");
    }
    json_decref (root);
    return NULL;
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
    json_t *root = read_document (&self);
    yaml_event_delete (&self.event);
    yaml_parser_delete (&self.parser);
    regfree (&self.number);
    return root;
}
