//! The table of commands in `docs/cli.md` is made of the command itself.

use std::fmt::Write as _;

use expect_test::expect_file;
use tests::pages;

use crate::functions::read;

/// A table for each group: what each command is called, and what it is for.
fn tables() -> String {
    let mut program = journeyman::help::command();
    program.build();
    let mut text = String::new();
    for (title, names) in journeyman::help::groups() {
        let head = format!("### {title}\n\n| command | purpose |\n|---|---|\n");
        text.push_str(&head);
        for name in names {
            let command = program.find_subcommand(name).expect("the groups name commands");
            let purpose = command.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(text, "| `{name}` | {purpose} |").expect("a text grows");
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
