//! The table of commands in `docs/cli.md` is made of the command itself.

use std::fmt::Write as _;

use clap::Command;
use expect_test::expect_file;
use tests::pages;

use crate::functions::read;

/// The options of `command`, as `--name`, without those that every command has.
fn options(command: &Command) -> Vec<String> {
    let names = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let names = names.filter_map(|arg| arg.get_long()).filter(|name| *name != "help");
    names.map(|name| format!("`--{name}`")).collect()
}

/// A table for each group: what each command is called and takes, what it is for, and its options.
fn tables() -> String {
    let mut program = journeyman::help::command();
    program.build();
    let mut text = String::new();
    for (title, names) in journeyman::help::groups() {
        let head = format!("### {title}\n\n| command | purpose | options |\n|---|---|---|\n");
        text.push_str(&head);
        for name in names {
            let command = program.find_subcommand(name).expect("the groups name commands");
            let purpose = command.get_about().map(ToString::to_string).unwrap_or_default();
            let options = options(command).join(" ");
            let row = writeln!(text, "| `{name}` | {purpose} | {options} |");
            row.expect("a text grows");
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_page_lists_every_command() {
    let page = read("docs/cli.md");
    expect_file!["../../../docs/cli.md"].assert_eq(&pages::with_table(
        &page,
        "commands",
        &tables(),
    ));
}
