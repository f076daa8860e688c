"""docs/certificate.schema.json by a validator that others made (python3-jsonschema)."""
from jsonschema import Draft202012Validator


def problems(value, schema):
    """All that is wrong with value, as texts."""
    Draft202012Validator.check_schema(schema)
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)]
