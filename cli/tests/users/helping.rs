//! What `--help` shows beside options.

use clap::error::ErrorKind;
use journeyman::help;

/// The examples in the help of `command`: lines that are no comments.
fn examples(command: &clap::Command) -> Vec<String> {
    let help = command.get_after_help().expect("examples").to_string();
    let lines = help.lines().skip(1).map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// What follows `journeyman` in a line of a shell.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let parts = line.split(['|', '(', ')', '>']);
    let words = parts.map(|part| part.split_whitespace().collect::<Vec<_>>());
    words.filter(|words| words.first() == Some(&"journeyman")).collect()
}

#[test]
fn each_command_has_examples_that_it_takes() {
    for command in help::command().get_subcommands() {
        let name = command.get_name();
        let examples = examples(command);
        assert!(!examples.is_empty(), "{name}");
        for example in examples {
            let calls = calls(&example);
            assert!(calls.iter().any(|call| call.get(1) == Some(&name)), "{name}: {example}");
            for call in calls {
                if let Err(problem) = help::command().try_get_matches_from(call) {
                    panic!("{example}: {problem}");
                }
            }
        }
    }
}

#[test]
fn the_first_screen_names_each_command_once() {
    let mut command = help::command();
    let screen = command.render_help().to_string();
    for command in command.get_subcommands() {
        let name = format!("  {} ", command.get_name());
        assert_eq!(screen.lines().filter(|line| line.starts_with(&name)).count(), 1, "{name}");
    }
}

#[test]
fn the_first_screen_has_room_in_a_window_of_80_columns() {
    let screen = help::command().render_help().to_string();
    let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(wide, Vec::<&str>::new());
}

#[test]
fn a_command_that_is_misspelt_is_guessed() {
    let problem = help::command()
        .try_get_matches_from(["journeyman", "explian"])
        .expect_err("no such command");
    assert_eq!(problem.kind(), ErrorKind::InvalidSubcommand);
    assert!(problem.to_string().contains("'explain'"), "{problem}");
}
