"""What openapi.yaml says about statuses, held against every answer that the tests get. `default` in it stands for what any request
may get; all else is named with its operation. Answers under /resources and /files may be the origin's, whatever their status."""

import functools
import pathlib
import re

import yaml

FILE = pathlib.Path(__file__).parent.parent.parent / "openapi.yaml"
ORIGINS = ("/resources", "/files")


@functools.cache
def document():
    return yaml.safe_load(FILE.read_text())


@functools.cache
def statuses_of_any():
    """What any route may answer, as the contract lists it."""
    return {int(number) for number in re.findall(r"\b\d{3}\b", document()["components"]["responses"]["Problem"]["description"])}


@functools.cache
def operations():
    """Patterns of paths, with the statuses of each method."""
    found = []
    for path, item in document()["paths"].items():
        pattern = re.compile("".join(
            "[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"({[^}]*})", path)))
        found.append((pattern, {method.upper(): set(o["responses"]) for method, o in item.items() if "responses" in o}))
    return sorted(found, key=lambda one: "[^/]+" in one[0].pattern)


def resolved(node):
    """What a node is, or what its $ref names."""
    names = node["$ref"].split("/")[1:] if "$ref" in node else []
    return functools.reduce(lambda found, name: found[name], names, document()) if names else node


def is_named(method, path, status):
    path = path.split("?")[0]
    if status in statuses_of_any() or path.startswith(ORIGINS):
        return True
    for pattern, methods in operations():
        if pattern.fullmatch(path):
            names = methods.get(method) or (methods.get("GET", ()) if method == "HEAD" else ())
            return str(status) in names or f"{status // 100}XX" in names
    return status == 404
