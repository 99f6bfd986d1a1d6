//! Whether one release may take the place of another: what their templates say of release and ledger.

use std::fmt;

use model::ledger::{LedgerFormat, UnreadableItem};

/// The variable of the functions that names their release, as `tools/release` writes it into a template.
const RELEASE: &str = "JOURNEYMAN_RELEASE";
const FORMAT: &str = "LedgerFormat";
/// Items that are named at most.
const ITEMS_MAX: usize = 5;

/// What a template says of its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRelease {
    /// Such as `1.2.0 (0123456789ab)`; `None`: the template of a checkout.
    pub name: Option<String>,
    /// `None`: the template is older than formats.
    pub format: Option<LedgerFormat>,
}

impl TemplateRelease {
    /// What `template` says, however it is written: AWS SAM and CloudFormation may write it anew.
    pub fn of(template: &str) -> Self {
        Self {
            name: value_of(template, RELEASE).map(str::to_owned),
            format: value_of(template, FORMAT).and_then(LedgerFormat::parse),
        }
    }
}

impl fmt::Display for TemplateRelease {
    /// `release 1.2.0 (0123456789ab)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "release {name}"),
            None => f.write_str("a checkout"),
        }
    }
}

/// The value in the first line about `name`, without quotes.
fn value_of<'a>(template: &'a str, name: &str) -> Option<&'a str> {
    let is_around = |letter: char| matches!(letter, '"' | '\'' | ',') || letter.is_whitespace();
    let value = |line: &'a str| {
        let rest = line.trim_start_matches(is_around).strip_prefix(name)?;
        let rest = rest.trim_start_matches(is_around).strip_prefix(':')?;
        Some(rest.trim_matches(is_around))
    };
    template.lines().find_map(value)
}

/// The formats that are read: `format 1`, or `formats 1 to 2`.
fn formats(format: &LedgerFormat) -> String {
    let (from, to) = (format.reads.start(), format.reads.end());
    if from == to { format!("format {from}") } else { format!("formats {from} to {to}") }
}

/// What stands against a new release in the place of the installed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objections {
    /// Why it is impossible; sentences.
    pub fatal: Vec<String>,
    /// What the user must accept; sentences.
    pub risks: Vec<String>,
}

impl Objections {
    /// Against `new` in the place of `installed`, which may be the newer one.
    pub fn between(installed: &TemplateRelease, new: &TemplateRelease) -> Self {
        let mut objections = Self::default();
        let (Some(before), Some(after)) = (&installed.format, &new.format) else {
            let silent = if installed.format.is_none() { installed } else { new };
            objections.risks.push(format!(
                "The template of {silent} names no ledger format: it is unknown whether {new} can read the ledger, and \
                 whether you can go back to {installed}."
            ));
            return objections;
        };
        if !after.can_read(before) {
            objections.fatal.push(format!(
                "{new} cannot read the ledger: it reads {}, and {installed} writes format {}.",
                formats(after),
                before.writes
            ));
        }
        if !before.can_read(after) {
            objections.risks.push(format!(
                "You cannot go back: {installed} reads {} of the ledger, and {new} writes format {}.",
                formats(before),
                after.writes
            ));
        }
        objections
    }

    /// Against `new`, whose CRDs and RBAC rules come from the command of `release`; `None`: it was not built as one.
    pub fn add_command(&mut self, new: &TemplateRelease, release: Option<&str>) {
        if let (Some(name), Some(release)) = (&new.name, release)
            && name != release
        {
            self.risks.push(format!(
                "This command is of release {release}: use that of release {name}, which has its CRDs and RBAC rules."
            ));
        }
    }

    /// Against a release that cannot read these items of the ledger.
    pub fn add_unreadable(&mut self, items: &[UnreadableItem]) {
        let named = items.iter().take(ITEMS_MAX);
        self.risks.extend(named.map(|UnreadableItem { item, problem, .. }| {
            format!("The new release cannot read the item {item} of the ledger: {problem}.")
        }));
        if let Some(others) = items.len().checked_sub(ITEMS_MAX).filter(|others| 0 < *others) {
            self.risks.push(format!("There are {others} more items that it cannot read."));
        }
    }

    /// The risks that the user takes.
    ///
    /// # Errors
    ///
    /// Why the release must not be deployed, or not without `--force`.
    pub fn judged(self, is_forced: bool) -> Result<Vec<String>, String> {
        if !self.fatal.is_empty() {
            return Err(format!("{}\nNothing was changed.", self.fatal.join("\n")));
        }
        if !self.risks.is_empty() && !is_forced {
            let why = self.risks.join("\n");
            return Err(format!("{why}\nNothing was changed. To continue anyway, add --force."));
        }
        Ok(self.risks)
    }
}
