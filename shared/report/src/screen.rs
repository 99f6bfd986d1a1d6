//! What people's output is written on: how wide it is, and whether it shows colors.
//!
//! In a pipe or a file lines are as long as they are, so that programs find what they look for on one
//! line. On a terminal nothing is longer than the window.

use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write},
};

use clap::ValueEnum;
use console::Term;

/// Whether to print in colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Columns that a table's last cell needs beside the others to be readable.
const LAST_CELL_MIN: usize = 18;

/// A window with fewer columns shows short names of nodes.
const NODE_NAMES_MIN: usize = 120;
/// The ends of names that EC2 gives to instances.
const NODE_DOMAINS: [&str; 2] = [".compute.internal", ".ec2.internal"];

/// `error:` in bold and red, as clap writes it.
const ERROR_MARK: &str = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m";

/// How wide the output is, and whether it shows colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Columns of the window; `None` where there is no window.
    pub columns: Option<usize>,
    /// Rows of the window.
    pub rows: Option<usize>,
    /// Whether colors are shown.
    pub is_colored: bool,
    /// Whether a narrow window shows names of nodes without the domain that EC2 gives. Not where lines are commands, which
    /// people copy.
    pub has_short_nodes: bool,
}

/// Whether lines may be drawn over on standard error: it is a terminal, and one that can.
pub fn draws_on_stderr() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

#[expect(clippy::disallowed_methods, reason = "the command is where the terminal is asked")]
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// <https://no-color.org>
#[expect(clippy::disallowed_methods, reason = "the command is where the terminal is asked")]
fn is_color_unwanted() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Rows and columns of a window that knows them.
fn measures(size: Option<(u16, u16)>) -> (Option<usize>, Option<usize>) {
    let known = |length: u16| Some(usize::from(length)).filter(|length| *length > 0);
    size.map_or((None, None), |(rows, columns)| (known(rows), known(columns)))
}

impl Screen {
    /// Standard output.
    pub fn of_stdout(color: Color) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let size = if is_terminal { Term::stdout().size_checked() } else { None };
        let (rows, columns) = measures(size);
        Self {
            columns,
            rows,
            is_colored: match color {
                Color::Auto => is_terminal && !is_dumb() && !is_color_unwanted(),
                Color::Always => true,
                Color::Never => false,
            },
            has_short_nodes: false,
        }
    }

    /// Standard error.
    pub fn of_stderr() -> Self {
        let is_terminal = io::stderr().is_terminal();
        let size = if is_terminal { Term::stderr().size_checked() } else { None };
        let is_colored = is_terminal && !is_dumb() && !is_color_unwanted();
        let (rows, columns) = measures(size);
        Self { columns, rows, is_colored, has_short_nodes: false }
    }

    /// With short names of nodes in a narrow window.
    #[must_use]
    pub const fn with_short_nodes(self) -> Self {
        Self { has_short_nodes: true, ..self }
    }

    /// Writes `text` as an error, in the style of the errors about arguments: `error: ` and the text, whose further lines
    /// begin on the left.
    pub fn error(self, text: &str, out: &mut impl Write) -> io::Result<()> {
        const MARK: &str = "error:";
        let mut lines = Vec::new();
        self.lines(&format!("{MARK} {text}"), &mut lines)?;
        let lines = String::from_utf8_lossy(&lines);
        let rest = lines.strip_prefix(MARK).unwrap_or(&lines);
        let mark = if self.is_colored { ERROR_MARK } else { MARK };
        write!(out, "{mark}{rest}")
    }

    /// `text` as it is shown here: in a narrow window perhaps with short names of nodes.
    pub fn shown(self, text: &str) -> Cow<'_, str> {
        let is_narrow = self.columns.is_some_and(|columns| columns < NODE_NAMES_MIN);
        let is_named = || NODE_DOMAINS.iter().any(|domain| text.contains(domain));
        if !(self.has_short_nodes && is_narrow && is_named()) {
            return Cow::Borrowed(text);
        }
        let is_of_name =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
        let mut shown = String::new();
        for part in text.split_inclusive(|letter| !is_of_name(letter)) {
            let name = part.trim_end_matches(|letter| letter == '.' || !is_of_name(letter));
            let is_of_ec2 = NODE_DOMAINS.iter().any(|domain| name.ends_with(domain));
            match name.split_once('.') {
                Some((short, _)) if is_of_ec2 => {
                    shown.push_str(short);
                    shown.push_str(part.get(name.len()..).unwrap_or_default());
                }
                _ => shown.push_str(part),
            }
        }
        Cow::Owned(shown)
    }

    /// Writes `page`, and `answer` below it once more if the window cannot show all of `page`: what a person sees without
    /// scrolling is the end.
    pub fn with_answer_last(
        self,
        page: &[u8],
        answer: &[u8],
        out: &mut impl Write,
    ) -> io::Result<()> {
        out.write_all(page)?;
        // The prompt of the shell takes one row.
        let rows = page.split(|byte| *byte == b'\n').count();
        if answer.is_empty() || self.rows.is_none_or(|seen| rows <= seen) {
            return Ok(());
        }
        writeln!(out)?;
        self.title("Summary", out)?;
        out.write_all(answer)
    }

    /// Writes every line of `text` from the left.
    pub fn lines(self, text: &str, out: &mut impl Write) -> io::Result<()> {
        text.lines().try_for_each(|line| self.text(0, line, out))
    }

    /// `text` in bold, where colors are shown.
    pub fn bold(self, text: &str) -> String {
        self.painted("1", text)
    }

    /// `text` in red, where colors are shown.
    pub fn red(self, text: &str) -> String {
        self.painted("31", text)
    }

    /// `text` in green, where colors are shown.
    pub fn green(self, text: &str) -> String {
        self.painted("32", text)
    }

    fn painted(self, code: &str, text: &str) -> String {
        if self.is_colored { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Writes a title in bold.
    pub fn title(self, text: &str, out: &mut impl Write) -> io::Result<()> {
        let lines = wrapped(&self.shown(text), self.columns.unwrap_or(usize::MAX));
        lines.iter().try_for_each(|line| writeln!(out, "{}", self.bold(line)))
    }

    /// Writes `text` behind `indent` spaces; what does not fit goes on below, two columns further in.
    pub fn text(self, indent: usize, text: &str, out: &mut impl Write) -> io::Result<()> {
        let room = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent + 2));
        let first = room.saturating_add(2);
        let mut start = indent;
        for line in wrapped_after(&self.shown(text), first, room) {
            writeln!(out, "{:start$}{line}", "")?;
            start = indent + 2;
        }
        Ok(())
    }

    /// Writes `text` behind `head`; what does not fit goes on below, as far in as it began.
    pub fn behind(self, head: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
        let indent = head.chars().count();
        let room = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent));
        let mut head = head;
        for line in wrapped(&self.shown(text), room.max(LAST_CELL_MIN)) {
            writeln!(out, "{head:indent$}{line}")?;
            head = "";
        }
        Ok(())
    }

    /// Whether a table has room in the window.
    fn fits(self, heads: &[&str], rows: &[Vec<String>]) -> bool {
        let width: usize = widths(heads, &self.cells(rows)).iter().map(|width| width + 2).sum();
        self.columns.is_none_or(|columns| width <= columns)
    }

    /// Writes a table without those columns of `spared`, the first first, for which the window has no room. A line below
    /// names them, and the option `all` that shows them.
    pub fn sparing_table(
        self,
        heads: &[&str],
        mut rows: Vec<Vec<String>>,
        (spared, all): (&[&str], &str),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (mut heads, mut hidden) = (heads.to_vec(), Vec::new());
        for head in spared {
            if self.fits(&heads, &rows) {
                break;
            }
            if let Some(place) = heads.iter().position(|known| known == head) {
                heads.remove(place);
                for row in rows.iter_mut().filter(|row| place < row.len()) {
                    row.remove(place);
                }
                hidden.push(*head);
            }
        }
        self.table(&heads, &rows, out)?;
        if hidden.is_empty() {
            return Ok(());
        }
        let text = format!("no room for {}: {all} shows all columns", hidden.join(", "));
        self.text(0, &text, out)
    }

    /// `rows` as they are shown here.
    fn cells(self, rows: &[Vec<String>]) -> Vec<Vec<String>> {
        let row =
            |row: &Vec<String>| row.iter().map(|cell| self.shown(cell).into_owned()).collect();
        rows.iter().map(row).collect()
    }

    /// Writes a table behind two spaces, each column as wide as its widest cell. What does not fit is
    /// folded in the last column, else below its row, else each cell has a line of its own.
    pub fn table(
        self,
        heads: &[&str],
        rows: &[Vec<String>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let rows = &self.cells(rows);
        let widths = widths(heads, rows);
        let Some((last, others)) = widths.split_last() else { return Ok(()) };
        let before: usize = 2 + others.iter().map(|width| width + 2).sum::<usize>();
        let columns = self.columns.unwrap_or(usize::MAX);
        let table = Layout { screen: self, heads, widths: others };
        if before.saturating_add(*last) <= columns {
            table.beside(rows, usize::MAX, out)
        } else if before + LAST_CELL_MIN <= columns {
            table.beside(rows, columns - before, out)
        } else if before <= columns + 2 {
            table.below(rows, out)
        } else {
            table.cards(rows, out)
        }
    }
}

fn widths(heads: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |(column, head): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.chars().count())
    };
    heads.iter().enumerate().map(width).collect()
}

/// How the rows of a table are written.
struct Layout<'a> {
    screen: Screen,
    heads: &'a [&'a str],
    /// Of every column but the last.
    widths: &'a [usize],
}

impl Layout<'_> {
    fn padded<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let padded = cells.zip(self.widths).map(|(cell, width)| format!("{cell:<width$}  "));
        padded.collect()
    }

    /// The last column beside the others, `width` columns wide.
    fn beside(&self, rows: &[Vec<String>], width: usize, out: &mut impl Write) -> io::Result<()> {
        let head = self.padded(self.heads.iter().copied());
        let head = format!("{head}{}", self.heads.last().copied().unwrap_or_default());
        writeln!(out, "  {}", self.screen.bold(head.trim_end()))?;
        for row in rows {
            let mut start = self.padded(row.iter().map(String::as_str));
            let last = row.last().map(String::as_str).unwrap_or_default();
            for line in wrapped(last, width) {
                writeln!(out, "  {}", format!("{start}{line}").trim_end())?;
                start = " ".repeat(start.chars().count());
            }
        }
        Ok(())
    }

    /// The last column below the others.
    fn below(&self, rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
        let head = self.padded(self.heads.iter().copied());
        writeln!(out, "  {}", self.screen.bold(head.trim_end()))?;
        let last = self.heads.last().copied().unwrap_or_default();
        let room = self.screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(6));
        for line in wrapped(last, room) {
            writeln!(out, "      {}", self.screen.bold(&line))?;
        }
        for row in rows {
            let start = self.padded(row.iter().map(String::as_str));
            writeln!(out, "  {}", start.trim_end())?;
            match row.last().map(String::as_str) {
                None | Some("") => {}
                Some(last) => self.screen.text(6, last, out)?,
            }
        }
        Ok(())
    }

    /// Every cell that says something on a line of its own.
    fn cards(&self, rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
        for row in rows {
            let cells = self.heads.iter().zip(row).enumerate();
            for (place, (head, cell)) in cells.filter(|(_, (_, cell))| !cell.is_empty()) {
                let indent = if place == 0 { 2 } else { 4 };
                self.screen.text(indent, &format!("{}: {cell}", head.to_lowercase()), out)?;
            }
        }
        Ok(())
    }
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    wrapped_after(text, width, width)
}

/// `text` in lines of at most `room` characters, the first of `first`: between words, else within
/// them. There is always a line.
fn wrapped_after(text: &str, first: usize, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let room_of = |lines: &Vec<String>| if lines.len() == 1 { first } else { room }.max(1);
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room_of(&lines) {
            lines.push(String::new());
            used = 0;
        } else if used > 0 {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
            used += 1;
        }
        for letter in word.chars() {
            if used == room_of(&lines) {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().into_iter().for_each(|line| line.push(letter));
            used += 1;
        }
    }
    lines
}
