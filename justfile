# The tasks of this repository; few and fixed. `just` alone lists them.

_list:
    @just --list --unsorted

# All checks, as CI runs them
check:
    ./test

# All tests, without lints
test:
    cargo nextest run --workspace
    cargo test --workspace --doc

# Everything that needs Rust alone
unit:
    ./test unit

# Official clients against the built binary
e2e:
    ./test e2e

# Kill the binary so many times, on SQLite and PostgreSQL, and look at what is left
crash ROUNDS="200":
    ./test crash {{ROUNDS}}

# Format, and let clippy repair what it can
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged

# A benchmark, such as `call`
bench TARGET *ARGS:
    cargo run --profile dist --package bench -- {{TARGET}} {{ARGS}}

# The binary as it is handed out: optimised, and trained on calls
dist:
    bench/dist

# Start the gate
run *ARGS:
    cargo run --release -- up {{ARGS}}

# A guided tour in one terminal
demo:
    cargo run --release -- demo

# Licences, sources and known weaknesses of dependencies
deny:
    cargo deny check
