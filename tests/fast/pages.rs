//! Tables of pages that are made of the code: each stands between `<!-- its name -->` and `<!-- end -->`.

use std::collections::BTreeMap;

/// What is before the table, the table, and what is after it.
#[expect(clippy::expect_used, reason = "only tests call it, on the repository's own pages")]
fn parts<'p>(page: &'p str, name: &str) -> (&'p str, &'p str, &'p str) {
    let (before, rest) = page.split_once(&format!("<!-- {name} -->\n")).expect("a beginning");
    let (table, after) = rest.split_once("<!-- end -->\n").expect("an end");
    (before, table, after)
}

/// The table called `name`.
///
/// # Panics
///
/// When it lacks its marks: these are the repository's own pages.
pub fn table<'p>(page: &'p str, name: &str) -> &'p str {
    parts(page, name).1
}

/// The page with `table` in place of what is called `name`.
///
/// # Panics
///
/// When it lacks its marks: these are the repository's own pages.
pub fn with_table(page: &str, name: &str, table: &str) -> String {
    let (before, _, after) = parts(page, name);
    format!("{before}<!-- {name} -->\n{table}<!-- end -->\n{after}")
}

/// The last cell of each row of the table that is called `name`, by the first words in backquotes.
///
/// # Panics
///
/// When it lacks its marks.
pub fn last_cells<'p>(page: &'p str, name: &str) -> BTreeMap<&'p str, &'p str> {
    let cell = |row: &'p str| {
        let (start, cell) = row.strip_suffix(" |")?.rsplit_once(" | ")?;
        Some((start.split('`').nth(1)?, cell))
    };
    table(page, name).lines().filter_map(cell).collect()
}
