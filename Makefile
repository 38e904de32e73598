# Two commands are enough on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# A registry that is slow or away for a moment is asked again.
export PIP_RETRIES ?= 10
export PIP_DEFAULT_TIMEOUT ?= 60

.PHONY: setup setup-dev native run demo test bench lint format messages lock

setup: .venv/.installed

.venv/.installed: requirements.lock pyproject.toml hatch_build.py hemeroteca/extract/native/build.py $(wildcard hemeroteca/extract/native/*.rs hemeroteca/extract/native/page/*.rs)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip  # its making was interrupted
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -c requirements.lock -e .
	$(BIN)/python -m hemeroteca.extract.native
	$(BIN)/python -m compileall -q hemeroteca
	-$(BIN)/python -m hemeroteca.replay.install
	touch $@

setup-dev: .venv/.installed-dev

.venv/.installed-dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -c requirements.lock -e '.[dev]'
	touch $@

# Compiles the fast path for HTML anew where its sources have changed.
native: setup
	$(BIN)/python -m hemeroteca.extract.native

run: setup
	$(BIN)/hemeroteca serve

demo: setup
	$(BIN)/python -m simweb.demo

test: setup-dev lint
	tests/run

bench: setup-dev
	$(BIN)/python -m bench

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Compiles the translations of the console; the results are committed.
messages: setup
	$(BIN)/pybabel compile --domain django --directory hemeroteca/console/locale

# Writes the versions installed now; a lock file carries names and versions, no host.
lock:
	$(BIN)/python -m pip freeze --exclude-editable | LC_ALL=C sort -f > requirements.lock
