"""As much of JSON Schema as docs/certificate.schema.json uses. An unknown word of a schema is an error, not ignored."""
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int,
         "null": type(None)}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def problems(value, schema, place="$"):
    """All that is wrong with value, as texts."""
    found = []
    for word, what in schema.items():
        if word in ("$schema", "title", "description", "required", "items", "additionalProperties"):
            continue  # words for people, or looked at below
        if word == "type":
            if not any(is_type(value, name) for name in (what if isinstance(what, list) else [what])):
                return [f"{place}: {value!r} is no {what}"]
        elif word == "const":
            found += [] if value == what else [f"{place}: not {what}"]
        elif word == "enum":
            found += [] if value in what else [f"{place}: {value!r} is none of {what}"]
        elif word in ("minimum", "maximum") and value is not None:
            found += [] if (value >= what if word == "minimum" else value <= what) else [f"{place}: {value} and {word} {what}"]
        elif word in ("minItems", "maxItems", "minLength") and value is not None:
            found += [] if (len(value) >= what if word[1] == "i" else len(value) <= what) else [f"{place}: {word} {what}"]
        elif word == "pattern" and value is not None:
            found += [] if re.search(what, value) else [f"{place}: {value!r} is not like {what}"]
        elif word == "properties":
            assert schema["additionalProperties"] is False
            found += [f"{place}: no key {key}" for key in schema["required"] if key not in value]
            found += [f"{place}: unknown key {key}" for key in value if key not in what]
            for key in value:
                found += problems(value[key], what[key], f"{place}.{key}") if key in what else []
        elif value is not None:
            assert word in ("minimum", "maximum", "minItems", "maxItems", "minLength", "pattern"), f"unknown word {word}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += problems(item, schema["items"], f"{place}[{i}]")
    return found
