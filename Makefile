# Two commands are enough on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv
# Extras of pyproject.toml to install as well: make setup EXTRAS="postgres s3"
EXTRAS ?=
# A registry that is slow or away for a moment is asked again.
export PIP_RETRIES ?= 10
export PIP_DEFAULT_TIMEOUT ?= 60

# A cargo of rustup has its toolchain beside it; whoever has another home than its owner's must tell it.
CARGO := $(shell command -v cargo 2>/dev/null)
RUSTUP := $(abspath $(dir $(CARGO))../../.rustup)
ifneq ($(and $(CARGO),$(wildcard $(RUSTUP))),)
export RUSTUP_HOME ?= $(RUSTUP)
endif

.PHONY: setup setup-dev native run demo test cargo-test bench lint style types imports format messages lock

setup: .venv/.installed native

.venv/.installed: requirements.lock pyproject.toml locks/run.txt
	@echo "Making .venv with $$($(PYTHON) --version) and the packages of requirements.lock; nothing else on this machine is changed. A minute or two …"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip  # its making was interrupted
	$(PIP) --require-hashes --no-deps -r locks/run.txt $(patsubst %,-r locks/%.txt,$(EXTRAS))
	$(PIP) --no-build-isolation -c requirements.lock -e .
	$(BIN)/python -m compileall -q hemeroteca
	@echo "Adding the replay of archived pages (pywb, in .venv-replay) …"
	-$(BIN)/python -m hemeroteca.replay.install
	@echo "Ready: $(BIN)/hemeroteca --help. \`make run\` starts it, \`make demo\` shows it on a simulated web."
	touch $@

# The compiled HTML reader, where there is a cargo; without it pages are read by Python alone, several times slower.
native: .venv/.installed-native

.venv/.installed-native: .venv/.installed native/Cargo.toml native/Cargo.lock native/pyproject.toml $(wildcard native/src/*.rs native/src/page/*.rs)
	@if [ -z "$(CARGO)" ]; then echo "There is no cargo: pages will be read by Python alone, several times slower."; \
	else echo "Compiling the reader of pages (cargo) …"; $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv --force-reinstall --no-deps ./native \
		|| echo "The compiled reader could not be built: pages will be read by Python alone, several times slower."; fi
	touch $@

setup-dev: .venv/.installed-dev

.venv/.installed-dev: .venv/.installed .venv/.installed-native
	$(PIP) --require-hashes --no-deps -r locks/dev.txt
	$(PIP) --no-build-isolation -c requirements.lock -e '.[dev]'
	touch $@

run: setup
	$(BIN)/hemeroteca serve

demo: setup
	$(BIN)/python -m simweb.demo

# What checks the code runs side by side, and what the tests need besides is fetched meanwhile.
test: setup-dev
	@tests/install & $(MAKE) --no-print-directory -j2 -O lint cargo-test; code=$$?; wait; exit $$code
	tests/run

cargo-test:
	$(if $(CARGO),$(CARGO) test --quiet --manifest-path native/Cargo.toml)

bench: setup-dev
	$(BIN)/python -m bench

lint: style types imports

style: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev
	$(BIN)/mypy

imports: setup-dev
	$(BIN)/lint-imports

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Compiles the translations of the console; the results are committed.
messages: setup
	$(BIN)/pybabel compile --domain django --directory hemeroteca/console/locale

# Writes the versions installed now, then the hashes of their files; a lock file carries no host.
lock:
	$(PIP) -c requirements.lock hatchling editables
	$(BIN)/python -m pip freeze --exclude-editable --exclude hemeroteca-native | LC_ALL=C sort -f > requirements.lock
	$(BIN)/python -m locks
