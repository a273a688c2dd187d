# The project's commands. "make" alone lists them.
.DEFAULT_GOAL := help
.PHONY: help setup demo run test lint clean
VENV := .venv/bin

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what the application needs; quick when it is already there
	@scripts/setup.sh

demo: ## Import the sample news, judge them with a real worker, show the clusters (CHECK=1: then end)
	@scripts/demo.sh

run: setup ## Start web, worker and beat in the foreground (PORT=8000)
	@scripts/run.sh

test: ## Install what the tests need, run all checks, then the tests on SQLite and on MariaDB
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory lint
	@$(VENV)/python scripts/test.py

# The type checker loads the settings; DEBUG lets them do without a secret key.
lint: export DEBUG := true
lint: setup ## Check style, formatting, layers of modules and types
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/lint-imports --no-logo
	$(VENV)/mypy

clean: ## Remove all that can be made again; the data in var/ stay
	rm -rf .venv staticfiles .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -name '*.mo' -delete
