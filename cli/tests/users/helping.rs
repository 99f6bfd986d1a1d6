//! What `--help` shows beside options.

use clap::{ValueEnum as _, error::ErrorKind};
use journeyman::help;
use report::format::Format;

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

/// Commands whose answer has one form: files that programs read, steps that are shown and carried out, a version.
const ONE_FORM: [&str; 15] = [
    "adopt",
    "completions",
    "convert",
    "crds",
    "deploy",
    "install",
    "local",
    "man",
    "rbac",
    "release",
    "rollback",
    "template",
    "uninstall",
    "upgrade",
    "version",
];

#[test]
fn every_command_prints_in_forms_of_one_set() {
    let set: Vec<String> = Format::value_variants().iter().map(ToString::to_string).collect();
    assert_eq!(set, ["table", "wide", "json", "yaml", "name"]);
    for command in help::command().get_subcommands() {
        let name = command.get_name();
        let output = command.get_arguments().find(|argument| argument.get_id() == "output");
        let Some(output) = output else {
            assert!(ONE_FORM.contains(&name), "{name} has no -o");
            continue;
        };
        assert!(!ONE_FORM.contains(&name), "{name} has -o");
        assert_eq!((output.get_short(), output.get_long()), (Some('o'), Some("output")), "{name}");
        let forms: Vec<String> =
            output.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let of_set: Vec<&String> = set.iter().filter(|form| forms.contains(form)).collect();
        assert_eq!(forms.iter().collect::<Vec<_>>(), of_set, "{name}");
        for form in ["table", "json", "yaml"] {
            assert!(forms.iter().any(|known| known == form), "{name} lacks {form}");
        }
        for form in &set {
            let operand = match name {
                "catalog" => None,
                "get" => Some("nodes"),
                _ => Some("node"),
            };
            let call = ["journeyman", name, "-o", form].into_iter().chain(operand);
            let problem = help::command().try_get_matches_from(call).err();
            let problem = problem.filter(|problem| problem.kind() == ErrorKind::InvalidValue);
            assert_eq!(problem.is_none(), forms.contains(form), "{name} -o {form}");
            if let Some(problem) = problem {
                let text = problem.to_string();
                assert!(text.contains("--output") && text.contains("json, yaml"), "{text}");
            }
        }
    }
}
