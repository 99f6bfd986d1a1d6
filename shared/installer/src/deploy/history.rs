//! Which templates a stack had: what a rollback goes back to. The bucket keeps the list, and the templates and zips.

/// Older ones are forgotten.
const TEMPLATES_MAX: usize = 50;

/// Templates of a stack by their checksums, the oldest first: each that a deployment began to put into place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateHistory(Vec<String>);

impl TemplateHistory {
    /// The key of the list of the stack called `stack`, below `prefix`.
    pub fn key(prefix: &str, stack: &str) -> String {
        format!("{prefix}history-{stack}.txt")
    }

    /// The list in `text`, as [`Self::to_text`] writes it.
    pub fn read(text: &str) -> Self {
        Self(text.lines().map(str::to_owned).collect())
    }

    /// A line for each.
    pub fn to_text(&self) -> String {
        self.0.join("\n")
    }

    /// Notes that `new` takes the place of `installed`; `None`: the stack is new, and goes back to nothing.
    pub fn note(&mut self, installed: Option<&str>, new: &str) {
        match installed {
            Some(installed) => self.add(installed),
            None => self.0.clear(),
        }
        self.add(new);
        self.0.drain(..self.0.len().saturating_sub(TEMPLATES_MAX));
    }

    fn add(&mut self, checksum: &str) {
        if self.0.last().is_none_or(|last| last != checksum) {
            self.0.push(checksum.to_owned());
        }
    }

    /// The template before `installed`; `None` if there is none. A deployment that failed left its template behind
    /// `installed`.
    pub fn before(&self, installed: &str) -> Option<&str> {
        let at = self.0.iter().rposition(|checksum| checksum == installed)?;
        self.0.get(at.checked_sub(1)?).map(String::as_str)
    }
}
