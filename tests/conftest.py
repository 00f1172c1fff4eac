"""What holds for every test: guards against leaving a mess, and readable failures of the suites."""

import pytest

pytest.register_assert_rewrite("spaced.testing")

pytest_plugins = ["spaced.testing.guards"]
