# Every target works on a fresh machine with Python 3.11+ and make; the first one run sets up .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup test lint fmt docs bench wheel demo run clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "spaced needs Python 3.11 or newer; $(PYTHON) is older. Set PYTHON=python3.x and try again." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

test: $(READY)
	$(BIN)/pytest -n auto $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/python -m tests.docs.generate

bench: $(READY)
	$(BIN)/python -m tests.benchmarks.run $(ARGS)

wheel: $(READY)
	$(BIN)/python -m tests.end_to_end.wheel_smoke

demo: $(READY)
	@$(BIN)/spaced demo

run: $(READY)
	@$(BIN)/spaced up $(ARGS)

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
