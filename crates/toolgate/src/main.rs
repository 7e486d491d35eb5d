//! The `toolgate` binary. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    toolgate::cli::main()
}
