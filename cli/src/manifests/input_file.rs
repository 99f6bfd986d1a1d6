//! Files, and what they hold.

use std::{
    fs, io,
    io::{Read, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use api::files::{ListReader, Manifest};
use model::api_version::{AWS_V1, KARPENTER_V1};
use report::error::BadInput;
use tempfile::SpooledTempFile;

/// How deep directories are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Only the files in them.
    #[default]
    Files,
    /// Also those in the directories within them.
    All,
}

impl Depth {
    /// That of the option `--recursive`.
    pub const fn of(is_recursive: bool) -> Self {
        if is_recursive { Self::All } else { Self::Files }
    }
}

/// A file that was read, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Its path; `-` is standard input.
    pub name: String,
    /// What it holds.
    pub text: String,
    /// Whether an argument names the file itself, not only its directory.
    pub is_named: bool,
}

impl InputFile {
    /// A file that an argument names.
    pub fn named(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), is_named: true }
    }

    /// Whether the file is to be read as manifests whatever it holds: an argument names it, or Karpenter's
    /// objects stand in it, which must not be lost for a wrong indentation. Of a directory's other
    /// files some are values, policies and templates of Helm's.
    pub(crate) fn is_meant(&self) -> bool {
        let has_karpenter =
            || [KARPENTER_V1, AWS_V1].iter().any(|version| self.text.contains(version));
        self.is_named || has_karpenter() && !self.text.contains("{{")
    }
}

/// Files with their texts: every `.yaml`, `.yml` and `.json` of directories, and `-` for standard input.
pub fn files(paths: &[PathBuf], depth: Depth) -> Result<Vec<InputFile>, BadInput> {
    let file = |(path, is_named): (PathBuf, bool)| {
        let name = path.display().to_string();
        Ok(InputFile { name, text: text(&path)?, is_named })
    };
    paths_in(paths, depth)?.into_iter().map(file).collect()
}

/// Every file to read, and whether an argument names it.
pub(super) fn paths_in(paths: &[PathBuf], depth: Depth) -> Result<Vec<(PathBuf, bool)>, BadInput> {
    let mut inputs = Vec::new();
    for path in paths {
        let is_named = !path.is_dir();
        inputs.extend(files_in(path, depth)?.into_iter().map(|file| (file, is_named)));
    }
    Ok(inputs)
}

/// How much of a large file is in memory.
const PIECE_BYTES: u64 = 1 << 20;
/// Bytes of input that can be read only once (a pipe) that are kept in memory; the rest is kept on disk.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// What a file holds.
pub(super) enum Content {
    /// A list in JSON, read without its text: a saved cluster has a hundred megabytes of it.
    List(Manifest),
    /// Anything else.
    Text(String),
}

/// Reads a file, or standard input for `-`. What turns out late to be no such list is read once more; what
/// can be read only once is kept for that.
pub(super) fn content(path: &Path, name: &str) -> Result<Content, BadInput> {
    let cause = |error| unreadable(path, &error);
    let mut input: Box<dyn Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(fs::File::open(path).map_err(cause)?)
    };
    let is_once = is_stdin(path) || !path.is_file();
    let mut kept = is_once.then(|| SpooledTempFile::new(KEPT_BYTES_MAX));
    let mut reader = ListReader::new(name);
    let mut piece = Vec::new();
    let manifest = loop {
        piece.clear();
        let read = input.by_ref().take(PIECE_BYTES).read_to_end(&mut piece).map_err(cause)?;
        if read == 0 {
            break reader.finish();
        }
        kept.as_mut().map_or(Ok(()), |kept| kept.write_all(&piece)).map_err(cause)?;
        if reader.add(&piece).is_none() {
            break None;
        }
    };
    match (manifest, kept) {
        (Some(manifest), _) if manifest.problems.iter().all(|problem| problem.object.is_some()) => {
            Ok(Content::List(manifest))
        }
        (_, None) => text(path).map(Content::Text),
        (_, Some(mut kept)) => {
            let mut text = String::new();
            kept.rewind().map_err(cause)?;
            kept.chain(input).read_to_string(&mut text).map_err(cause)?;
            Ok(Content::Text(text))
        }
    }
}

fn files_in(path: &Path, depth: Depth) -> Result<Vec<PathBuf>, BadInput> {
    if !path.is_dir() {
        let text = path.to_string_lossy();
        if !path.exists() && ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) {
            let cure = format!("`curl -sL {text} | journeyman … -f -` reads it");
            return Err(BadInput::one(format!("{text}: is not fetched from there: {cure}")));
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = Vec::new();
    walk(path, depth, &mut paths)?;
    if paths.is_empty() {
        let cure = match depth {
            Depth::Files => "; add -R to read its subdirectories",
            Depth::All => "",
        };
        let rule = format!("{}: has no .yaml, .yml or .json file{cure}", path.display());
        return Err(BadInput::one(rule));
    }
    Ok(paths)
}

/// Adds the manifests of `folder` to `found`, by name; directories after the files. Links to
/// directories are not followed: they may lead in circles.
fn walk(folder: &Path, depth: Depth, found: &mut Vec<PathBuf>) -> Result<(), BadInput> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(|error| unreadable(folder, &error)))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    let is_manifest = |path: &&PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        path.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
    };
    found.extend(paths.iter().filter(is_manifest).cloned());
    if depth == Depth::All {
        for path in paths.iter().filter(|path| path.is_dir() && !path.is_symlink()) {
            walk(path, depth, found)?;
        }
    }
    Ok(())
}

/// The text of a file, or of standard input for `-`.
pub fn text(path: &Path) -> Result<String, BadInput> {
    if is_stdin(path) {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        return read.map(|_| text).map_err(|error| unreadable(path, &error));
    }
    fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn unreadable(path: &Path, error: &io::Error) -> BadInput {
    BadInput::one(format!("{}: {error}", path.display()))
}
