# Everything a developer types. `make run` and `make test` are each enough on a fresh machine: they set up what they need.

PYTHON_FOUND = $$(tools/find_python.sh)
BIN := .venv/bin
NPM := $(BIN)/python tools/node.py npm
MODEL ?= crnn
PYTEST ?=
BENCH ?=
NAMES ?=
FUZZ ?=
SUITE ?=
CASES ?=

# Python and pytest keep what they compile, or each of some thousand processes compiles it again.
unexport PYTHONDONTWRITEBYTECODE

# Each worker begins with a stretch of the tests in their order, so that those of a module mostly share its fixtures; one that is done takes
# half of what the fullest has left. At the end stand the twenty longest. Many wait, for a page, a process or a second of their own: three
# workers keep two cores busy. One process reads all of the short ones first, so that not each has to compile them.
PYTEST_SPREAD = $(BIN)/pytest --dist worksteal --durations 20 --durations-min 1

.PHONY: help setup run test test-long lint lint-python lint-page format page-test page-and-lint python-test chromium postgres torch docs-generator docs \
        slow acceptance bench onnx-suite bench-calls bench-costs bench-e2e bench-operators bench-page bench-size bench-tvm contract-cost protocol pictures record sizes footprint truth gpu lock value-cases value-contract view-suite wheel runtime-wheel bench-verdicts bench-budget versions clean

help: ## what can be made
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## .venv from the locks, and the built page; does nothing when both are up to date
	@python=$(PYTHON_FOUND) && "$$python" tools/checkout.py

run: setup ## the explorer with a sample model (MODEL=crnn); prints its address
	@$(BIN)/collage explore "$(MODEL)" || [ $$? -eq 130 ]

test: setup chromium postgres ## all that must pass before a commit
	@$(MAKE) --no-print-directory --jobs 2 page-and-lint python-test

test-long: setup chromium postgres torch docs-generator ## the tests that take long: whole runs, kills in all phases, fleets, all examples
	COLLAGE_TEST_EXAMPLES=all $(PYTEST_SPREAD) -n 3 -m "(long or examples) and not slow" $(PYTEST)

slow: setup ## every toolchain on all node tests of ONNX and many random models, whole runs without a hurry; then damaged input, a minute a border
	$(PYTEST_SPREAD) -n 2 -m slow $(PYTEST)
	$(BIN)/python -m tests.fuzz $(FUZZ)

chromium: setup
	@$(BIN)/python tools/chromium.py

postgres: setup
	@$(BIN)/python tools/postgres.py

torch: setup
	@$(BIN)/python tools/pytorch.py

docs-generator: setup
	@$(BIN)/python tools/docs_site.py --install

docs: setup ## the documentation as a web site in site/, which needs no network
	@$(BIN)/python tools/docs_site.py

lint: lint-python lint-page ## ruff, mypy, eslint and tsc

lint-python: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tools

lint-page: setup
	$(NPM) run --silent lint

format: setup ## rewrites the Python sources in the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

page-test: setup ## the page's unit tests
	$(NPM) test --silent

page-and-lint: setup # beside the Python tests, which leave a core idle now and then; says all that it has to say at its end
	@said=$$($(MAKE) --no-print-directory --output-sync lint page-test 2>&1); status=$$?; printf '%s\n' "$$said"; exit $$status

python-test: setup chromium postgres ## the Python tests, browser tests included (PYTEST="-k name" narrows them)
	@$(BIN)/pytest --collect-only --quiet >.make/collected || { cat .make/collected; exit 1; }
	$(PYTEST_SPREAD) -n 3 -m "not long and not slow" $(PYTEST)

acceptance: setup ## measures quick samples, two networks and four real models beside every baseline (NAMES="lstm bert" for some)
	$(BIN)/python tools/acceptance.py $(NAMES)

bench: setup ## times the engine beside the C++ original and checks its budgets (BENCH="--only gpt2" for one model)
	@$(BIN)/python tools/bench.py $(BENCH)

bench-costs: setup ## how far measured costs can be believed, and what lazy measuring saves (BENCH="--only lazy" for one part)
	@$(BIN)/python tools/bench_costs.py $(BENCH)

bench-budget: setup ## how long runs take beside their budgets, and how well the time left is predicted (BENCH="--only mnist --budget 30")
	@$(BIN)/python tools/bench_budget.py $(BENCH)

bench-e2e: setup ## plans of the whole suite beside every toolchain alone (BENCH="--only crnn --threads 1" for less); takes hours
	@$(BIN)/python tools/bench_e2e.py $(BENCH)

onnx-suite: setup ## ONNX's own operator tests, each partitioned, built and run (SUITE="--only resize" for some); takes minutes
	@$(BIN)/python tools/onnx_suite.py $(SUITE)

view-suite: setup ## ONNX's own test models, opened as their files have them and compared with Netron (VIEW="folder" for more); two minutes
	@$(BIN)/python tools/view_suite.py $(VIEW)

value-contract: setup ## what each toolchain computes right, measured: the tables of their rules (TOOLCHAINS=openvino for one); minutes
	@$(BIN)/python tools/value_contract.py $(TOOLCHAINS)

contract-cost: setup ## how many candidates of the samples the value contract takes away, and what that costs (COST="crnn --values any"); minutes
	@$(BIN)/python tools/contract_cost.py $(COST)

value-cases: setup ## small models on unusual values, with each toolchain alone and all together (CASES="--only int64" for some); an hour
	@$(BIN)/python tools/value_cases.py $(CASES)

bench-calls: setup ## what calling an artifact costs beyond its kernels, and what idle threads cost (BENCH="--only pools" for one part)
	@$(BIN)/python tools/bench_calls.py $(BENCH)

bench-operators: setup ## what a toolchain faster at one kind of operator could bring to the samples (BENCH="--only GELU" for one kind)
	@$(BIN)/python tools/bench_operators.py $(BENCH)

gpu: ## checks and measures the GPUs of this machine (GPU="--wheels DIR" without a network, from the wheels in DIR)
	@if [ -x $(BIN)/python ]; then $(BIN)/python tools/gpu.py $(GPU); else python3 tools/gpu.py $(GPU); fi

bench-size: setup ## memory, time and disk of a model of 3 GB, opened and partitioned (BENCH="--gigabytes 1" for less)
	@$(BIN)/python tools/bench_size.py $(BENCH)

bench-verdicts: setup ## how often a plan is called faster than itself, and one that is 5 % faster (BENCH="--load" plans models beside a load)
	@$(BIN)/python tools/bench_verdicts.py $(BENCH)

bench-tvm: setup ## TVM with its own fusions, with those that the search chose, and with libraries (BENCH="--only bert" for one sample)
	@$(BIN)/python tools/bench_tvm.py $(BENCH)

bench-page: setup chromium ## times the page beside Netron and checks its budgets (BENCH="--only paint" for one part)
	@$(BIN)/python tools/bench_page.py $(BENCH)

protocol: setup ## the page's types from collage_server/messages
	$(BIN)/python -m collage_server.typescript > .make/protocol.ts
	mv .make/protocol.ts frontend/src/data/protocol.ts

pictures: setup chromium ## pictures of the page, those of the README and the docs among them (NAMES="time deep-flat" for some)
	$(BIN)/python tools/pictures.py $(NAMES)

record: setup ## the recorded runs that come with the samples (NAMES="crnn ssd300" for these, also where there is none yet)
	$(BIN)/python tools/record.py $(NAMES)

sizes: setup ## how long files and functions are
	@$(BIN)/python tools/sizes.py

truth: setup ## what each surface says of ten recorded runs, side by side, and what of it contradicts (ARGUMENTS="crnn out" for others)
	@$(BIN)/python tools/truth.py $(ARGUMENTS)

footprint: setup ## how many files and functions run for a partitioning and a pin (ARGUMENTS="--files" lists them in order)
	@$(BIN)/python tools/footprint.py $(ARGUMENTS)

# ncnn asks for these to download models, which we never do; pip installs the lock without asking what else a package wants.
NOT_NEEDED = --no-emit-package portalocker --no-emit-package tqdm
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
          --fork-strategy fewest --no-emit-index-url $(NOT_NEEDED) --custom-compile-command "make lock"

lock: setup ## the newest versions that pyproject.toml and package.json admit
	$(COMPILE) pyproject.toml --extra fleet --extra graphviz --extra ncnn --extra onednn --extra openvino --extra plotly --extra postgres --extra tvm --group dev -o locks/python.txt
	$(COMPILE) --group docs --constraints locks/python.txt -o locks/docs.txt
	$(COMPILE) --no-deps --group models -o locks/models.txt
	$(COMPILE) --no-deps --group node -o locks/node.txt
	$(NPM) update --package-lock-only

wheel: setup ## a wheel in dist/ that brings the built page with it
	rm -rf build
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

runtime-wheel: setup ## a wheel in dist/ of what runs and serves artifacts alone
	$(BIN)/python tools/runtime_wheel.py

versions: ## what this machine has, for reports
	@for tool in make c++ node npm chromium; do printf '%-10s' $$tool; ($$tool --version 2>/dev/null || echo none) | head -n 1; done
	@python=$(PYTHON_FOUND) && "$$python" --version

clean: ## removes everything that was made, .venv and node_modules too
	rm -rf .venv node_modules collage_server/static/dist .make build dist out site .pytest_cache .ruff_cache .mypy_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
