//! Where dumps are, if no argument says it.

use std::{
    env,
    path::{Path, PathBuf},
};

use report::{error::BadInput, progress, screen::Screen};

use super::ShadowArgs;
use crate::authority;

/// The directory of the dumps: the argument, or one of the user's own for the kubeconfig's context. Says on standard error
/// which one it found.
pub(super) fn of(args: &ShadowArgs) -> Result<PathBuf, BadInput> {
    if let Some(folder) = &args.dumps {
        return Ok(folder.clone());
    }
    let context = authority::context_of(args.kubeconfig.as_deref(), args.context.as_deref());
    let (Some(context), Some(home)) = (context, state_home()) else {
        let why = "no kubeconfig has a current context: name a directory DIR of dumps";
        return Err(BadInput::one(why));
    };
    let folder = folder(&home, &context);
    if !args.live && !folder.is_dir() {
        let path = folder.display();
        let rule = format!("there is no {path}: name a directory DIR, or write dumps with --live");
        return Err(BadInput::one(rule));
    }
    let line = format!("dumps of context {context}: {}", folder.display());
    // If standard error is closed, there is no one to read the line.
    let _unread = progress::hidden(|| Screen::of_stderr().lines(&line, &mut std::io::stderr()));
    Ok(folder)
}

/// Where the user's programs keep what they know:
/// <https://specifications.freedesktop.org/basedir-spec/latest/>.
#[expect(clippy::disallowed_methods, reason = "users say so where their programs keep state")]
fn state_home() -> Option<PathBuf> {
    let given = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    given.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/state")))
}

/// The directory for `context`, whose name may have characters that no file has.
fn folder(home: &Path, context: &str) -> PathBuf {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let name = context.replace(|letter| !is_plain(letter), "_");
    home.join("journeyman/shadow").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_context_has_a_directory() {
        let of =
            |context| folder(Path::new("/home/me/.local/state"), context).display().to_string();
        assert_eq!(of("demo"), "/home/me/.local/state/journeyman/shadow/demo");
        assert_eq!(
            of("arn:aws:eks:us-west-2:111122223333:cluster/demo"),
            "/home/me/.local/state/journeyman/shadow/arn_aws_eks_us-west-2_111122223333_cluster_demo"
        );
        assert_eq!(of("../../x"), "/home/me/.local/state/journeyman/shadow/______x");
    }
}
