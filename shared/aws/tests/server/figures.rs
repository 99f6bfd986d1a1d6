//! What tests measure on the way, and say.

#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
/// Now, on the clock of the machine.
pub(super) fn present() -> std::time::Instant {
    std::time::Instant::now()
}

#[expect(clippy::print_stdout, reason = "a live test says what it did")]
/// Prints a line for the person who runs the tests.
pub(super) fn report(line: &str) {
    println!("{line}");
}
