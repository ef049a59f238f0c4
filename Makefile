# Two commands do all the set-up: `make demo` shows the site, `make test` runs every check.
# Both may be run again: what is done is not done again.

PYTHON ?= python3
PORT ?= 8000
BASE_URL ?= http://127.0.0.1:$(PORT)
# Texts of one's own, for `make braingpt`
TEXTS ?=
VAR_DIR ?= $(CURDIR)/var

BIN := .venv/bin
RUN := $(BIN)/python manage.py
DEV := $(BIN)/python -m benchmarks
STAMP := .venv/.installed
CODE := config lib experiment scoring analysis benchmarks scripts manage.py
# Templates that djlint lints, and those that it formats as well
LINTED := templates/admin templates/analysis templates/benchmarks templates/experiment templates/lab templates/scoring
FORMATTED := templates/scoring
# Pages in several languages, where B003 (no marks for translation) does not hold; H030: a plain page needs no description
TRANSLATED := templates/participant templates/base.html
# Quick tests of the rules, the estimators and what changes participants' data; real trainings and reports take longer
CORE := lib experiment/domain scoring/domain analysis/stats analysis/teams/domain tests/experiment/domain \
	tests/experiment/services tests/scoring/domain tests/analysis/stats
FAULTS := $(addprefix --part ,requests processes surroundings fuzz backup growth)
STATIC_SOURCES := $(shell find static experiment -path '*static/*' -type f 2>/dev/null)
# A site as it runs in production, for `check --deploy`; this key exists for that check alone
DEPLOYED := HTTPS=1 NUM_PROXIES=1 BIND=unix:/run/brainbench/site.sock ALLOWED_HOSTS=lab.example.org BASE_URL=https://lab.example.org \
	SECRET_KEY=only-for-checking-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFG

export VAR_DIR
# Images of containers set it, and then each of the tests' processes compiles all code anew, and rewrites all assertions
export PYTHONDONTWRITEBYTECODE :=
demo serve: export PORT := $(PORT)
demo serve braingpt: export BASE_URL := $(BASE_URL)

.DEFAULT_GOAL := help
.PHONY: audit help venv demo demo-begins braingpt serve lint lint-types sizes lint-rest check check-core test test-postgresql test-sqlite sweep bench trust trust-sqlite trust-postgresql hour hour-sqlite hour-postgresql browser migrate port clean constraints llama-cpp inspect
.DELETE_ON_ERROR:

help:
	@echo 'make demo    install what is needed, load the demo study, serve it on port $(PORT)'
	@echo 'make braingpt  train a model and an adapter, and test them on the demo study (3 minutes of one core); TEXTS=FOLDER adds your own texts'
	@echo 'make serve   serve your own site, without the demo study'
	@echo 'make check   lint, and the tests of rules, estimators and what changes data of participants (one and a half minutes on two quick cores)'
	@echo 'make test    every check, and every test but those of make sweep (10 minutes on two quick cores)'
	@echo 'make lint    the checks alone'
	@echo 'make sweep   slow: the remaining tests on SQLite, braingpt, the balance of assignment over more seeds, scoring killed at random, families of models, Bayesian teams, coverage of intervals, Firefox, a site in containers, benchmarks'
	@echo 'make venv    only .venv; after it, .venv/bin/python manage.py help lists the commands'
	@echo 'make bench   slow: speed, exactness and memory of scoring, on random weights; cost of the report and the pages'
	@echo 'make trust   slow: every fault, attack and load of docs/trust.md on both databases'
	@echo 'make hour    slow: one hour at half of the capacity of the site, on both databases at the same time, with faults'
	@echo 'make audit   before a release: known vulnerabilities of the pinned packages; fails if the index cannot be reached'
	@echo 'make sizes   the kB of each part, and its limit'
	@echo 'make clean   remove .venv and caches; the database in var/ stays'

venv: $(STAMP)

$(STAMP): requirements.txt $(wildcard requirements/*.txt) scripts/make_venv.py
	@command -v $(PYTHON) >/dev/null || { echo 'Python was not found: install Python 3.11, 3.12 or 3.13 (Debian: apt-get install python3 python3-venv).' >&2; exit 1; }
	@$(PYTHON) scripts/make_venv.py
	@touch $@

migrate: $(STAMP)
	@$(RUN) migrate --verbosity 0
	@$(RUN) chores --verbosity 0 withdrawals

# Hashed copies of the static files; made again only when a source or a package changed
$(VAR_DIR)/static/staticfiles.json: $(STAMP) $(STATIC_SOURCES)
	@$(RUN) collectstatic --no-input --clear --verbosity 0
	@touch $@

port: $(STAMP)
	@$(BIN)/python scripts/check_port.py '$(PORT)'

demo: demo-begins port migrate $(VAR_DIR)/static/staticfiles.json
	@echo 'Step 2 of 5: the demo study and its simulated participants'
	@$(RUN) load_demo
	@$(RUN) make_up_answers demo-questions
	@echo 'Step 3 of 5: a small language model takes the same test (a demonstration, trained on a few pages)'
	@$(RUN) score --model embedded --study demo --conditions full,isolated,swapped --resume
	@echo 'The same model reads both versions and chooses, as participants do:'
	@$(RUN) score --model embedded --study demo --method choice --layout marked --resume
	@echo 'Step 4 of 5: the same model also answers questions, mostly wrongly. Answers are compared with those of an expert word for word; no model grades them:'
	@$(RUN) answer --study demo-questions --model embedded --resume
	@$(RUN) grade --study demo-questions --judge exact --of 'brainbench-live/demo-lm' --resume
	@echo 'Step 5 of 5: the results of both studies'
	@for study in demo demo-questions; do \
	  [ -e '$(VAR_DIR)'/reports/$$study/*report.json ] || $(RUN) report $$study --output '$(VAR_DIR)'/reports/$$study --formats svg >/dev/null; done
	@echo
	@echo 'Ready:'
	@echo '  Take the test      $(BASE_URL)/s/demo/'
	@echo '  Answer questions   $(BASE_URL)/s/demo-questions/'
	@echo '  The lab            $(BASE_URL)/lab/'
	@$(RUN) create_admin --if-none
	@exec $(BIN)/python scripts/serve.py

demo-begins:
	@echo 'Step 1 of 5: packages, database and static files (a minute or two the first time)'

# On one thread the weights are the same, bit by bit, on the same kind of machine
braingpt: migrate
	@$(RUN) load_demo
	@OMP_NUM_THREADS=1 $(RUN) braingpt $(if $(TEXTS),--texts '$(TEXTS)')

serve: port migrate $(VAR_DIR)/static/staticfiles.json
	@$(RUN) create_admin --if-none
	@$(RUN) site_address
	@exec $(BIN)/python scripts/serve.py

# Types take as long as all else: one core each
lint: $(STAMP)
	@$(MAKE) --no-print-directory --jobs 2 lint-types lint-rest

lint-types:
	$(BIN)/mypy $(CODE)

lint-rest:
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports --no-cache
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose/compose.yaml
	@if LC_ALL=C.UTF-8 grep -IrnE '.{121}' templates; then echo 'A line of a template has over 120 characters.' >&2; exit 1; fi
	$(BIN)/djlint --quiet --lint $(LINTED)
	$(BIN)/djlint --quiet --lint --ignore H020,H021,H030,H044,H053,B003 $(TRANSLATED)
	$(BIN)/djlint --quiet --check $(FORMATTED)
	$(BIN)/python scripts/check_words.py
	$(RUN) makemigrations --check --dry-run --verbosity 1
	$(DEPLOYED) $(RUN) check --deploy --fail-level WARNING

browser: $(STAMP)
	@$(BIN)/python scripts/find_browser.py chromium --install >/dev/null
	@$(BIN)/python scripts/find_browser.py firefox --install >/dev/null
	@command -v nginx >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || apt-get -y -qq install --no-install-recommends nginx-light >/dev/null || true

# What a change most often breaks; types beside the tests
check: $(STAMP)
	@$(MAKE) --no-print-directory --jobs 3 lint-types lint-rest check-core

check-core:
	$(BIN)/pytest --numprocesses 2 $(CORE)

# All on PostgreSQL; beside it mypy, and on SQLite what the other database might do otherwise: one waits where the other computes
test: browser
	@$(MAKE) --no-print-directory --jobs 4 lint-types lint-rest test-postgresql test-sqlite

# Three on two cores, since a test of processes or of a browser often waits
test-postgresql: $(STAMP)
	$(BIN)/python scripts/with_postgres.py $(BIN)/pytest --numprocesses 3

# To read the other files would take longer than the tests of some of these
test-sqlite: $(STAMP)
	$(BIN)/pytest --numprocesses 1 -m "sqlite or both" $$(grep -rlE 'mark\.(sqlite|both)' --include='*.py' tests)

# Slow: the rest on SQLite; then the balance of assignment over more seeds, scoring killed at random, families of random models, calibration of Bayesian teams in full
# and beside Markov chains, teams of guessers, how often intervals hold the truth, pages in Firefox, the image of containers and a site in it, and benchmarks; -rP prints what they measured
sweep: $(STAMP)
	$(BIN)/pytest --numprocesses 2 -m "not (sqlite or both)"
	SWEEP=1 $(BIN)/pytest -m sweep -rP
	SWEEP=1 $(BIN)/python scripts/with_postgres.py $(BIN)/pytest -m sweep tests/experiment tests/scoring

# Slow: scoring beside the published loop and lm-evaluation-harness; BENCH="--items DIR --model_args ..." adds to it;
# then the report's numbers, and teams, on up to a million simulated trials; exports; the participants' pages beside oTree's;
# and a draw and the lab's pages beside 10^5 finished participants
bench: $(STAMP)
	$(DEV) bench scoring $(BENCH)
	$(DEV) bench analysis
	$(DEV) bench teams
	$(DEV) bench export
	$(DEV) bench web
	$(DEV) bench growth

# Slow: strikes a site of its own in every way, and writes docs/trust.md
# The faults of both databases beside each other: they mostly wait. What is measured by the clock comes alone
trust: $(STAMP)
	@mkdir -p '$(VAR_DIR)' && rm -f '$(VAR_DIR)/trust-red'
	@$(MAKE) --no-print-directory --jobs 2 --keep-going trust-sqlite trust-postgresql || touch '$(VAR_DIR)/trust-red'
	$(DEV) trust --part load --write docs/trust.json
	@test ! -e '$(VAR_DIR)/trust-red'

trust-sqlite trust-postgresql: trust-%: $(STAMP)
	$(DEV) trust --database $* $(FAULTS) --write docs/trust.json

hour:
	@$(MAKE) --no-print-directory --jobs 2 --keep-going hour-sqlite hour-postgresql

hour-sqlite hour-postgresql: hour-%: $(STAMP)
	$(DEV) trust --only hour --database $* --write docs/trust.json

# For the sweep: llama.cpp behind its Python server, compiled here (about 10 minutes; needs gcc), in a place of its own
llama-cpp:
	$(PYTHON) -m venv $(VAR_DIR)/llama-cpp
	$(VAR_DIR)/llama-cpp/bin/pip install --quiet 'llama-cpp-python[server]==0.3.36' gguf==0.19.0

# For models of providers, and for the sweep: Inspect, whose packages exclude versions of ours, in a place of its own
inspect:
	$(PYTHON) -m venv $(VAR_DIR)/inspect
	$(VAR_DIR)/inspect/bin/pip install --quiet -r requirements/inspect.txt

# Before a release: asks the package index for known vulnerabilities of every pinned package. One that cannot be asked about fails
audit: $(STAMP)
	@$(PYTHON) -m venv $(VAR_DIR)/pip-audit
	@$(VAR_DIR)/pip-audit/bin/pip install --quiet pip-audit==2.10.1
	@$(VAR_DIR)/pip-audit/bin/pip-audit --strict --disable-pip --no-deps --progress-spinner off --requirement requirements/constraints.txt \
		|| { echo 'The audit found a vulnerability, or could not ask about every package: do not release.' >&2; exit 1; }

# kB of each part, beside the most that it should have
sizes:
	@python3 scripts/count_sizes.py

clean:
	rm -rf .venv .hypothesis var/ruff var/mypy var/pytest var/static var/test-*

# Pins what the requirements bring with them, without addresses; a CPU build of torch is any build of it
constraints: $(STAMP)
	cat requirements/web.txt requirements/scoring.txt requirements/analysis.txt requirements/dev.txt | grep -v '^[-#]' \
		| $(BIN)/pip-compile --quiet --strip-extras --no-annotate --no-header --no-emit-options --no-emit-index-url \
		--no-emit-trusted-host --no-emit-find-links --output-file requirements/constraints.txt -
	sed -i 's/+cpu$$//; /^#/d' requirements/constraints.txt
