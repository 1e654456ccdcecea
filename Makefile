# What a user types: `make run`, `make test`. Everything else is a part of one of them.

PYTHON ?= python3
VENV := .venv
QUELL := cargo run --release --quiet --bin quell --

.PHONY: run test test-rust test-py lint fmt py clean

run: ## Build and run the main comparison, and write its report
	$(QUELL) run scenarios/main.toml

test: lint test-rust test-py ## Every test, Rust and Python

lint:
	cargo fmt --all --check
	cargo clippy --workspace --exclude quell-py --all-targets --quiet -- -D warnings

test-rust:
	cargo test --quiet

fmt: ## Format Rust and Python
	cargo fmt --all
