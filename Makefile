# Every target performs the setup it needs and can be repeated at any time.
#   make demo             the embedded stack, the Dagster UI and its sensors
#   make demo HEADLESS=1  the same run without the UI; exits 0 only if all lineage is in Glue
#   make production       the deployment of deploy/ on the embedded stack: PostgreSQL, and each process by itself
#   make production HEADLESS=1  the same run without the UI; exits 0 only if the main job has pushed all lineage
#   make test             lint, types and all tests; those for a browser, PostgreSQL, nginx or promtool are skipped without it
#   make room ROOM=sql   lint, types and one package's fast tests, in seconds: no stack and no Spark
#   make setup            the .venv with its hash-locked packages; the other targets do it themselves
#   make java             install a headless Java 17 with apt-get, unless Java 17 to 22 is found
#   make postgres         install PostgreSQL with apt-get, unless it is found
#   make deploy-tools     fetch nginx and promtool, which check deploy/, with apt-get, unless they are found
#   make browser          install Chromium for the browser tests with apt-get, unless it or Chrome is found
#   make screenshots      retake the README's screenshots with the browser tests
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Three keep two cores busy: many tests wait, for processes that start and for the embedded stack.
WORKERS ?= 3
# Hundreds of the tests' processes import the same modules, which each would compile where Python is told to
# leave no files beside its sources.
ifneq ($(PYTHONDONTWRITEBYTECODE),)
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/build/pycache
endif
# How many of the slowest tests `make test` lists.
SLOWEST ?= 25
# The Java archives that a target needs; a first setup downloads them after the packages.
ARCHIVES := spark kafka flink rest openlineage
# Where `make deploy-tools` puts programs, and the tests find them.
DEPLOY_TOOLS := build/deploy-tools
CHROMIUM := lineage_bridge_dagster_tests.browser.chromium

.PHONY: help python setup java postgres deploy-tools jars check test room browser screenshots demo production down clean lock

help:
	@sed -n '2,14s/^# *//p' Makefile

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "  -> sudo apt-get install python3.11 python3.11-venv, or: make PYTHON=/path/to/python3.11"; exit 2; }

# Written last, so that an interrupted setup is repeated.
$(READY): requirements.txt pyproject.toml | python
	@$(PYTHON) -m tools.set_up $(VENV) --archives $(BESIDE)
	@touch $@

jars test demo production screenshots: BESIDE := $(ARCHIVES)

setup: $(READY)

# Comes before the packages: sudo may ask for a password.
java: python
	@$(PYTHON) -m lineage_bridge_dagster.jars --java 2>/dev/null && exit; \
	command -v apt-get >/dev/null || { $(PYTHON) -m lineage_bridge_dagster.jars --java; exit; }; \
	as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	$$as_root apt-get update -qq; \
	version=17; apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 || version=21; \
	echo "Installing Java $$version with apt-get"; \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	  openjdk-$$version-jre-headless >/dev/null; \
	$(PYTHON) -m lineage_bridge_dagster.jars --java

jars: java setup
	@$(BIN)/python -m lineage_bridge_dagster.jars $(ARCHIVES)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: java check jars
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup --durations $(SLOWEST) --durations-min 1

room: setup
	@test -d "lineage_bridge_dagster_tests/$(ROOM)" -a -n "$(ROOM)" || { \
	  echo "Name a package that has tests, for example: make room ROOM=sql"; exit 2; }
	$(BIN)/ruff check lineage_bridge_dagster/$(ROOM) lineage_bridge_dagster_tests/$(ROOM)
	$(BIN)/mypy
	$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup -m "not stack and not spark" lineage_bridge_dagster_tests/$(ROOM)

browser: setup
	@$(BIN)/python -m $(CHROMIUM) && exit; \
	[ -z "$${LINEAGE_BRIDGE_CHROMIUM:-}" ] || exit 2; \
	command -v apt-get >/dev/null || { \
	  echo "  -> Fedora: sudo dnf install chromium; Arch: sudo pacman -S chromium; macOS: brew install --cask chromium"; \
	  exit 2; }; \
	echo "Installing Chromium with apt-get"; \
	as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	$$as_root apt-get update -qq; \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	$(BIN)/python -m $(CHROMIUM)

screenshots: browser jars
	@rm -rf ci-output/screenshots
	$(BIN)/pytest -n 0 lineage_bridge_dagster_tests/browser
	@mkdir -p docs/images
	cp ci-output/screenshots/readme/*.png docs/images/

demo: jars
	@$(BIN)/lineage-bridge local demo $(if $(HEADLESS),--headless)

# Debian's package would start a server of its own, on the usual port.
postgres:
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit; \
	command -v apt-get >/dev/null || { \
	  echo "  -> Fedora: sudo dnf install postgresql-server; macOS: brew install postgresql@17"; exit 2; }; \
	echo "Installing PostgreSQL with apt-get"; \
	as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	$$as_root apt-get update -qq; \
	$$as_root mkdir -p /etc/postgresql-common; \
	[ -e /etc/postgresql-common/createcluster.conf ] || \
	  echo "create_main_cluster = false" | $$as_root tee /etc/postgresql-common/createcluster.conf >/dev/null; \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null

# Unpacked and not installed: the packages would start servers of their own, on all interfaces.
deploy-tools:
	@mkdir -p $(DEPLOY_TOOLS); cd $(DEPLOY_TOOLS); PATH="$$PATH:/usr/sbin:$$PWD"; \
	for each in nginx:sbin/nginx prometheus:bin/promtool; do \
	  package=$${each%:*} program=$${each#*:}; \
	  ! command -v $${program##*/} >/dev/null || continue; \
	  command -v apt-get >/dev/null || { \
	    echo "  -> Fedora: sudo dnf install nginx golang-github-prometheus; macOS: brew install nginx prometheus"; exit 2; }; \
	  echo "Fetching $${program##*/} with apt-get"; \
	  apt-get download -qq $$package 2>/dev/null || { \
	    $$([ "$$(id -u)" = 0 ] || echo sudo) apt-get update -qq; apt-get download -qq $$package; }; \
	  dpkg-deb --fsys-tarfile $${package}_*.deb | tar -x --strip-components 3 ./usr/$$program; \
	  rm $${package}_*.deb; \
	done

production: postgres jars
	@$(BIN)/lineage-bridge local production $(if $(HEADLESS),--headless)

down: setup
	@$(BIN)/lineage-bridge local down

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

# For maintainers: resolve requirements.txt again, for every platform, with hashes; and the image's part of it.
lock: setup
	$(BIN)/uv pip compile pyproject.toml --extra dev --generate-hashes --universal --python-version 3.11 \
	  --no-emit-index-url --no-annotate --no-header -q -o requirements.txt
	$(BIN)/uv pip compile pyproject.toml --extra image -c requirements.txt --generate-hashes --python-platform linux \
	  --python-version 3.11 --no-emit-index-url --no-annotate --no-header -q -o deploy/requirements.txt
