//! What README.md and `docs/` print of the command's output is what the command prints today.
//!
//! A block ` ```console ` is a command behind `$ ` and its output. A line `…` stands for lines that the
//! page leaves out; a line that ends in `…` shows how a line begins. Commands are `journeyman …` or
//! `cargo run -- …`; blocks of other commands are samples of what needs a cluster or an account.

use std::{fmt::Write as _, fs, path::Path};

use clap::Parser as _;
use expect_test::expect_file;
use journeyman::args::Args;
use report::{command::RunCommand as _, screen::Screen};
use tests::{files, repository};

/// Which paragraphs of an output the picture shows.
enum Shown {
    First(usize),
    Last,
}

/// The picture in README.md.
const PICTURE: [(&str, Shown); 3] = [
    ("journeyman plan --compare examples/walkthrough", Shown::First(1)),
    ("journeyman simulate --ledger ledger.json", Shown::Last),
    ("journeyman explain node ip-10-0-0-17 --ledger ledger.json", Shown::First(2)),
];

/// Columns of the picture.
const COLUMNS: usize = 104;

/// The pages for users: README.md and everything below `docs/`, each by its path from the repository.
fn pages() -> Vec<(String, String)> {
    let root = repository();
    let mut pages = vec![("README.md".to_owned(), String::new())];
    for path in files(&root.join("docs"), &[".md"]) {
        let name = path.strip_prefix(&root).expect("below the repository").display();
        pages.push((name.to_string(), String::new()));
    }
    for (name, text) in &mut pages {
        *text = fs::read_to_string(root.join(&*name)).expect("a page");
    }
    pages
}

/// What `command` prints, played in `folder`; `None` if it is not one of ours.
fn output(command: &str, folder: &Path, screen: Screen) -> Option<String> {
    let command = command.split(" # ").next().unwrap_or(command).trim();
    let words =
        command.strip_prefix("journeyman ").or_else(|| command.strip_prefix("cargo run -- "))?;
    let (root, here) = (repository(), folder.display().to_string());
    let place = |word: &str| {
        if word.starts_with("examples/") {
            root.join(word).display().to_string()
        } else if Path::new(word).extension().is_some_and(|kind| kind == "json") {
            folder.join(word).display().to_string()
        } else {
            word.to_owned()
        }
    };
    let words = words.split_whitespace().map(place);
    let arguments = Args::try_parse_from(std::iter::once("journeyman".to_owned()).chain(words));
    let mut out = Vec::new();
    let text = match arguments.map(|arguments| arguments.run(screen, &mut out)) {
        Ok(Ok(_)) => String::from_utf8(out).expect("text"),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let places = [format!("{}/", root.display()), format!("{here}/")];
    Some(places.iter().fold(text, |text, place| text.replace(place, "")))
}

/// The blocks ` ```console ` of a page: each command with the lines below it.
fn printed(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    for line in page.lines().map(str::trim_start) {
        match line.strip_prefix("```") {
            Some(kind) => is_open = kind == "console",
            None if !is_open => {}
            None => match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, Vec::new())),
                (None, Some((_, lines))) => lines.push(line),
                (None, None) => panic!("output without a command: {line}"),
            },
        }
    }
    commands
}

/// The first of `lines` that `output` does not have behind those before it.
fn differs<'l>(lines: &[&'l str], output: &str) -> Option<&'l str> {
    let mut rest = output.lines().map(str::trim);
    lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && *line != "…").find(
        |line| {
            let is_it = |printed: &str| {
                line.strip_suffix('…').map_or(printed == *line, |begin| printed.starts_with(begin))
            };
            !rest.any(is_it)
        },
    )
}

/// A folder of this test's process; what is in it ends with it.
fn scratch(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn pages_print_what_the_command_prints() {
    let folder = scratch("printed");
    for (name, text) in pages() {
        for (command, lines) in printed(&text) {
            let Some(output) = output(command, &folder, Screen::default()) else { continue };
            let missing = differs(&lines, &output);
            assert_eq!(missing, None, "{name}: `{command}` prints otherwise:\n{output}");
        }
    }
}

#[test]
fn a_line_that_is_not_printed_is_seen() {
    let page = "```console\n$ journeyman x\na\n…\nc d…\n```\n```sh\n$ b\n```\n";
    let blocks = printed(page);
    assert_eq!(blocks, [("journeyman x", vec!["a", "…", "c d…"])]);
    assert_eq!(differs(&blocks[0].1, "a\nb\n  c d e\n"), None);
    assert_eq!(differs(&blocks[0].1, "c d e\na\n"), Some("c d…"));
    assert_eq!(differs(&["b"], "a b\n"), Some("b"));
}

/// The commands of ours in blocks ` ```sh ` of a page and between backquotes in its text.
fn named(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines().map(str::trim_start) {
        if let Some(kind) = line.strip_prefix("```") {
            block = block.is_none().then_some(kind);
        } else if block == Some("sh") {
            commands.push(line);
        } else if block.is_none() {
            commands.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let ends = [" #", " | ", " > ", " && ", " || ", ">", "…"];
    let alone = |line: &str| {
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
        line[..end].replace('"', "")
    };
    let is_ours = |line: &&str| {
        line.starts_with("journeyman ") && !line.contains("$(") && !line.contains("COMMAND")
    };
    commands.into_iter().filter(is_ours).map(alone).collect()
}

#[test]
fn commands_of_pages_are_understood() {
    use clap::error::ErrorKind::{
        DisplayHelp, DisplayVersion, InvalidValue, MissingRequiredArgument,
    };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, text) in pages() {
        for command in named(&text) {
            count += 1;
            let error = Args::try_parse_from(command.split_whitespace()).err();
            // A page may name a command without what it takes, and an option without its value.
            let is_bare =
                command.split_whitespace().last().is_some_and(|last| last.starts_with("--"));
            let is_fine = |kind| match kind {
                DisplayHelp | DisplayVersion | MissingRequiredArgument => true,
                InvalidValue => is_bare,
                _ => false,
            };
            if let Some(error) = error.filter(|error| !is_fine(error.kind())) {
                wrong.push(format!("{name}: {command}\n{error}"));
            }
        }
    }
    assert!(count > 50 && wrong.is_empty(), "{count} commands\n{}", wrong.join("\n"));
}

#[test]
fn the_readme_fits_into_120_lines() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("a page");
    assert!(readme.lines().count() <= 120);
}

/// The figures that README.md and the top of docs/cost.md name are those of the bills.
#[test]
fn figures_of_the_readme_are_those_of_the_bills() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("a page");
    let (readme, page) = (read("README.md"), read("docs/cost.md"));
    let bills = tests::pages::table(&page, "bills");
    let month = bills.lines().find(|line| line.starts_with("a month")).expect("a sum");
    let sums: Vec<&str> = month.split_whitespace().filter(|word| word.starts_with('$')).collect();
    let (sums, rest) = sums.as_chunks::<2>();
    assert!(sums.len() == 3 && rest.is_empty(), "{month}");
    for (nodes, [without_wake, with_wake]) in ["10", "100", "1,000"].into_iter().zip(sums) {
        let row = format!("| {nodes} nodes | {without_wake} | {with_wake} |");
        assert!(page.contains(&row), "docs/cost.md lacks {row}");
        let text = format!("{without_wake} for {nodes}");
        assert!(readme.contains(&text), "README.md: {text}");
    }
}

/// Each alarm of the stack has a section of the runbook, and names it.
#[test]
fn every_alarm_has_a_section_of_the_runbook() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("a page");
    let (template, page) = (read("template.yaml"), read("docs/operations.md"));
    let alarms: Vec<&str> = template
        .split("\n  ")
        .filter(|line| line.ends_with("Alarm:"))
        .map(|line| line.trim_end_matches(':'))
        .collect();
    assert!(alarms.len() > 10, "{alarms:?}");
    for alarm in alarms {
        let is_there = page.lines().any(|line| line.starts_with("### ") && line.contains(alarm));
        assert!(is_there, "docs/operations.md has no heading with {alarm}");
        let rest = template.split_once(&format!("\n  {alarm}:\n")).expect("an alarm").1;
        let words: Vec<&str> = rest.split_whitespace().take(40).collect();
        let link = format!("docs/operations.md, {alarm}.");
        assert!(words.join(" ").contains(&link), "{alarm} does not say: See {link}");
    }
}

// ------------------------------------------------------------------------------------------ the picture

/// Pixels of a column and of a line.
const CELL: (usize, usize) = (8, 19);

/// A piece of a line, and whether it is bold.
fn pieces(line: &str) -> Vec<(bool, String)> {
    let mut pieces = Vec::new();
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let (code, text) =
            if at == 0 { ("0", part) } else { part.split_once('m').unwrap_or(("0", part)) };
        if !text.is_empty() {
            pieces.push((code == "1", text.to_owned()));
        }
    }
    pieces
}

/// A terminal with `lines`; a line that begins with `$ ` is a command.
fn svg(lines: &[String]) -> String {
    let (width, height) = (COLUMNS * CELL.0 + 32, lines.len() * CELL.1 + 28);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d6deeb\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0f1c2e\"/>\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = row * CELL.1 + 28;
        let mut column = 0;
        for (is_bold, text) in pieces(line) {
            let length = text.chars().count();
            let skipped = length - text.trim_start().chars().count();
            let words = text.trim();
            if !words.is_empty() {
                let x = (column + skipped) * CELL.0 + 16;
                let long = words.chars().count() * CELL.0;
                let look = if line.starts_with("$ ") {
                    " fill=\"#7fd1b9\""
                } else if is_bold {
                    " fill=\"#ffffff\" font-weight=\"bold\""
                } else {
                    ""
                };
                let words = words.replace('&', "&amp;").replace('<', "&lt;");
                writeln!(svg, "<text x=\"{x}\" y=\"{y}\" textLength=\"{long}\" xml:space=\"preserve\"{look}>{words}</text>")
                    .expect("a text grows");
            }
            column += length;
        }
    }
    svg + "</svg>\n"
}

/// A line as a window of [`COLUMNS`] shows it.
fn folded(line: &str) -> Vec<String> {
    let shown: usize = pieces(line).iter().map(|(_, text)| text.chars().count()).sum();
    if shown <= COLUMNS {
        return vec![line.to_owned()];
    }
    let letters: Vec<char> = line.chars().collect();
    letters.chunks(COLUMNS).map(|part| part.iter().collect()).collect()
}

/// `UPDATE_EXPECT=1 cargo test -p tests --test tidy picture` draws it again.
#[test]
fn the_picture_shows_what_the_command_prints() {
    let (folder, screen) = (
        scratch("picture"),
        Screen { columns: Some(COLUMNS), is_colored: true, ..Screen::default() },
    );
    let mut lines: Vec<String> = Vec::new();
    for (command, shown) in PICTURE {
        let output = output(command, &folder, screen).expect("a command of ours");
        let paragraphs: Vec<&str> = output.trim_end().split("\n\n").collect();
        let shown = match shown {
            Shown::First(count) => &paragraphs[..count],
            Shown::Last => &paragraphs[paragraphs.len() - 1..],
        };
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("$ {command}"));
        lines.extend(shown.join("\n\n").lines().flat_map(folded));
    }
    expect_file!["../../../docs/pictures/terminal.svg"].assert_eq(&svg(&lines));
}
