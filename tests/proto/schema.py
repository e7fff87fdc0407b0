"""As much of JSON Schema as the schemas of proto/ use; a word it does not know is an error."""
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def is_type(name, value):
    if isinstance(name, list):
        return any(is_type(one, value) for one in name)
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def valid(schema, value, root=None):
    if isinstance(schema, bool):
        return schema
    root = root or schema
    return all(_WORDS[word](rule, value, schema, root) for word, rule in schema.items())


def each_property(rules, value, root):
    return not isinstance(value, dict) or all(
        valid(rule, value[name], root) for name, rule in rules.items() if name in value)


def each_other(rule, value, schema, root):
    """Members that `properties` does not name."""
    return not isinstance(value, dict) or all(
        valid(rule, value[name], root) for name in value.keys() - schema.get("properties", {}).keys())


def conditional(rule, value, schema, root):
    return not valid(rule, value, root) or valid(schema["then"], value, root)


def on(kind, check):
    """A word that says something of values of this type only."""
    return lambda rule, value, schema, root: not is_type(kind, value) or check(rule, value)


def always(rule, value, schema, root):
    return True


def same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


_WORDS = {
    "$schema": always, "title": always, "description": always, "$defs": always, "then": always,
    "$ref": lambda r, v, s, root: valid(root["$defs"][r.removeprefix("#/$defs/")], v, root),
    "type": lambda r, v, s, root: is_type(r, v),
    "const": lambda r, v, s, root: same(r, v),
    "enum": lambda r, v, s, root: any(same(one, v) for one in r),
    "not": lambda r, v, s, root: not valid(r, v, root),
    "allOf": lambda r, v, s, root: all(valid(one, v, root) for one in r),
    "oneOf": lambda r, v, s, root: sum(valid(one, v, root) for one in r) == 1,
    "if": conditional,
    "properties": lambda r, v, s, root: each_property(r, v, root),
    "additionalProperties": each_other,
    "propertyNames": lambda r, v, s, root: not isinstance(v, dict) or all(valid(r, name, root) for name in v),
    "anyOf": lambda r, v, s, root: any(valid(one, v, root) for one in r),
    "items": lambda r, v, s, root: not isinstance(v, list) or all(valid(r, i, root) for i in v),
    "required": on("object", lambda r, v: not set(r) - v.keys()),
    "minProperties": on("object", lambda r, v: len(v) >= r),
    "maxProperties": on("object", lambda r, v: len(v) <= r),
    "maxItems": on("array", lambda r, v: len(v) <= r),
    "minItems": on("array", lambda r, v: len(v) >= r),
    "maxLength": on("string", lambda r, v: len(v) <= r),
    "pattern": on("string", lambda r, v: re.search(r, v)),
    "minimum": on("number", lambda r, v: v >= r),
    "maximum": on("number", lambda r, v: v <= r),
}
