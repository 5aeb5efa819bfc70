"""Puts a corpus and the shipped files of its kind through their JSON schema.

A GoogleTest program puts the same corpus through the reader: each file must fare alike in both.
Usage: schema_test.py SCHEMA CORPUS SHIPPED LEAST_BAD. Exit code 77: python3-jsonschema is missing.
"""

import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def unique_keys(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return members


def load(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=unique_keys)


def verdict(validator, path):
    """None, or why the file is refused."""
    try:
        error = jsonschema.exceptions.best_match(validator.iter_errors(load(path)))
    except ValueError as error:
        return str(error)
    return None if error is None else error.message


def main():
    schema_file, corpus, shipped = (pathlib.Path(argument) for argument in sys.argv[1:4])
    schema = load(schema_file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = sorted((corpus / "good").glob("*.json")) + sorted(shipped.glob("*.json"))
    bad = sorted((corpus / "bad").glob("*.json"))
    if len(good) < 10 or len(bad) < int(sys.argv[4]):
        sys.exit(f"the corpus is not where it should be: {len(good)} good files, {len(bad)} bad")
    failures = 0
    for path in good:
        why = verdict(validator, path)
        if why is not None:
            print(f"FAILED {path}: the schema refuses it: {why}")
            failures += 1
    for path in bad:
        if verdict(validator, path) is None:
            print(f"FAILED {path}: the schema accepts it")
            failures += 1
    print(f"{len(good)} good and {len(bad)} bad files, {failures} failures")
    sys.exit(1 if failures else 0)


main()
