"""Random expressions with their values: a model of operators and methods that is written from the
text of the rules, and not from the C."""

import math

VALUES = {"i": 7, "k": -3, "d": 2.5, "s": "日本x", "e": "", "y": True, "n": None, "xs": [3, 1, 2],
          "ss": ["b", "a"], "o": {"a": 1, "b-c": [1, 2]}, "z": []}


class Failed(Exception):
    pass


class Missing(Exception):
    pass


def type_of(value):
    return {type(None): "null", bool: "boolean", int: "integer", float: "decimal", str: "string", list: "list",
            dict: "object"}[type(value)]


def number(value):
    return type_of(value) in ("integer", "decimal")


def text(value):
    kind = type_of(value)
    if kind == "string":
        return value
    if kind == "boolean":
        return "true" if value else "false"
    if not number(value):
        raise Failed
    return repr(value)


def fit(value):
    if type_of(value) == "integer" and not -2**63 <= value < 2**63:
        raise Failed
    if type_of(value) == "decimal" and not math.isfinite(value):
        raise Failed
    return value


def arithmetic(sign, a, b):
    if sign == "+" and "string" in (type_of(a), type_of(b)):
        return text(a) + text(b)
    if not number(a) or not number(b):
        raise Failed
    integers = type_of(a) == type_of(b) == "integer"
    if not integers:
        a, b = float(a), float(b)
    if sign in "/%" and b == 0:
        raise Failed
    try:
        if sign == "+":
            return fit(a + b)
        if sign == "-":
            return fit(a - b)
        if sign == "*":
            return fit(a * b)
        if not integers:
            return fit(a / b if sign == "/" else math.fmod(a, b))
    except OverflowError:
        raise Failed from None
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return fit(quotient if sign == "/" else a - quotient * b)


def equal(a, b):
    if number(a) and number(b):
        return a == b
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


def compare(sign, a, b):
    if sign in ("==", "!="):
        return equal(a, b) == (sign == "==")
    if sign == "in":
        if isinstance(b, dict) and isinstance(a, str):
            return a in b
        if not isinstance(b, list):
            raise Failed
        return any(equal(a, item) for item in b)
    if not (number(a) and number(b)) and not (isinstance(a, str) and isinstance(b, str)):
        raise Failed
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


def boolean(value):
    if not isinstance(value, bool):
        raise Failed
    return value


def member(value, name):
    if value is None:
        raise Missing
    if not isinstance(value, dict):
        raise Failed
    if name not in value:
        raise Missing
    return value[name]


def index(value, at):
    if isinstance(at, str) and not isinstance(value, list):
        return member(value, at)
    if type_of(at) != "integer" or not (value is None or isinstance(value, list)):
        raise Failed
    if value is None or not 0 <= at < len(value):
        raise Missing
    return value[at]


def substring(value, *bounds):
    start, end = bounds if len(bounds) == 2 else (bounds[0], len(value))
    if not 0 <= start <= end <= len(value):
        raise Failed
    return value[start:end]


def extreme(values, sign):
    if not values:
        raise Missing
    best = values[0]
    for value in values:
        if compare(sign, value, best):
            best = value
    return best


def total(values):
    result = 0
    for value in values:
        if not number(value):
            raise Failed
        result = arithmetic("+", result, value)
    return result


def join(values, between):
    if not all(isinstance(value, str) for value in values):
        raise Failed
    return between.join(values)


def nonempty(value):
    if not value:
        raise Failed
    return value


# name: type of the value, types of the arguments, what it is
METHODS = {
    "length": ("string", [], len),
    "upper": ("string", [], lambda s: "".join(c.upper() if c.isascii() else c for c in s)),
    "trim": ("string", [], lambda s: s.strip(" \t\n\r")),
    "contains": ("string", ["string"], lambda s, a: a in s),
    "startsWith": ("string", ["string"], str.startswith),
    "endsWith": ("string", ["string"], str.endswith),
    "indexOf": ("string", ["string"], str.find),
    "replace": ("string", ["string", "string"], lambda s, a, b: s.replace(nonempty(a), b)),
    "split": ("string", ["string"], lambda s, a: s.split(nonempty(a))),
    "substring": ("string", ["integer", "integer"], substring),
    "subString": ("string", ["integer"], substring),
    "size": ("list", [], len),
    "join": ("list", ["string"], join),
    "sum": ("list", [], total),
    "min": ("list", [], lambda v: extreme(v, "<")),
    "max": ("list", [], lambda v: extreme(v, ">")),
    "first": ("list", [], lambda v: index(v, 0)),
    "last": ("list", [], lambda v: index(v, max(len(v) - 1, 0))),
    "keys": ("object", [], list),
}


def loop(kind, values, body):
    """`body` is a function of the item."""
    if not isinstance(values, list):
        raise Failed
    made = []
    for value in values:
        result = body(value)
        if kind == "map":
            made.append(result)
        elif kind == "filter":
            made += [value] if boolean(result) else []
        elif boolean(result) == (kind == "any"):
            return kind == "any"
    return made if kind in ("map", "filter") else kind == "all"


class Maker:
    """Random expressions: each a text with parentheses, and a function of the values that are known."""

    def __init__(self, rng):
        self.rng = rng
        self.names = list(VALUES)

    def leaf(self):
        if self.rng.random() < 0.6:
            name = self.rng.choice(self.names)
            return self.rng.choice(["", "#"]) + name, lambda env: env[name]
        shown, value = self.rng.choice([
            ("0", 0), ("1", 1), ("2", 2), ("9223372036854775807", 2**63 - 1), ("1.5", 1.5), ("0.1", 0.1),
            ("1e300", 1e300), ("''", ""), ("'a'", "a"), ("'it''s'", "it's"), ('"\\u65e5\\n"', "日\n"), ("true", True),
            ("false", False), ("null", None), ("[]", [])])
        return shown, lambda env: value

    def binary(self, depth):
        sign = self.rng.choice(["+"] * 3 + ["-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in"])
        (left, a), (right, b) = self.make(depth), self.make(depth)
        function = arithmetic if sign in "+-*/%" else compare
        return f"({left} {sign} {right})", lambda env: function(sign, a(env), b(env))

    def logic(self, depth):
        (left, a), (right, b) = self.make(depth), self.make(depth)
        if self.rng.random() < 0.5:
            return f"({left} && {right})", lambda env: boolean(a(env)) and boolean(b(env))
        return f"({left} || {right})", lambda env: boolean(a(env)) or boolean(b(env))

    def choice(self, depth):
        (one, a), (two, b), (three, c) = self.make(depth), self.make(depth), self.make(depth)
        return f"({one} ? {two} : {three})", lambda env: b(env) if boolean(a(env)) else c(env)

    def unary(self, depth):
        inner, a = self.make(depth)
        if self.rng.random() < 0.5:
            return f"(!{inner})", lambda env: not boolean(a(env))
        return f"(-{inner})", lambda env: arithmetic("*", a(env), -1)

    def caught(self, depth):
        (one, a), (two, b) = self.make(depth), self.make(depth)

        def default(env):
            try:
                value = a(env)
            except Missing:
                return b(env)
            return b(env) if value is None else value

        def has(env):
            try:
                a(env)
            except Missing:
                return False
            return True

        return (f"default({one}, {two})", default) if self.rng.random() < 0.6 else (f"has({one})", has)

    def access(self, depth):
        (one, a), (two, b) = self.make(depth), self.make(depth)
        if self.rng.random() < 0.5:
            return f"{one}[{two}]", lambda env: index(a(env), b(env))
        name = self.rng.choice(["a", "zz"])
        return f"{one}.{name}", lambda env: member(a(env), name)

    def method(self, depth):
        name, (wanted, takes, function) = self.rng.choice(list(METHODS.items()))
        inner, a = self.make(depth)
        arguments = [self.make(depth) for _ in takes]

        def call(env):
            value, given = a(env), [b(env) for _, b in arguments]
            fits = type_of(value) == wanted or (name == "size" and isinstance(value, dict))
            if not fits or [type_of(v) for v in given] != takes:
                raise Failed
            return function(value, *given)

        return f"{inner}.{name}({', '.join(shown for shown, _ in arguments)})", call

    def static(self, depth):
        (one, a), (two, b) = self.make(depth), self.make(depth)
        name = self.rng.choice(["max", "min"])

        def call(env):
            left, right = a(env), b(env)
            if not number(left) or not number(right):
                raise Failed
            if type(left) is not type(right):
                left, right = float(left), float(right)
            return max(left, right) if name == "max" else min(left, right)

        return f"@Math@{name}({one}, {two})", call

    def items(self, depth):
        made = [self.make(depth) for _ in range(self.rng.randrange(4))]
        return f"[{', '.join(shown for shown, _ in made)}]", lambda env: [a(env) for _, a in made]

    def loop(self, depth):
        kind = self.rng.choice(["map", "map", "filter", "all", "any"])
        name = self.rng.choice(["x", "y2", "i"])
        values, a = self.make(depth)
        kept, self.names = self.names, self.names + [name] * 4
        inner, b = self.make(depth)
        self.names = kept
        return (f"{values}.{kind}({name}, {inner})",
                lambda env: loop(kind, a(env), lambda item: b({**env, name: item})))

    def make(self, depth):
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        kinds = [self.binary] * 4 + [self.logic, self.choice, self.unary, self.caught, self.access, self.access,
                                     self.method, self.method, self.static, self.items, self.loop, self.loop]
        return self.rng.choice(kinds)(depth - 1)
