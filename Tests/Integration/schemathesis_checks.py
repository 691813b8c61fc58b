"""For scripts/check-openapi: no status but what the contract names."""

import schemathesis

from contract import is_named


@schemathesis.check
def status_is_named(ctx, response, case):
    path = case.operation.path
    assert is_named(case.method, path, response.status_code), f"{case.method} {path}: {response.status_code} is not named"
