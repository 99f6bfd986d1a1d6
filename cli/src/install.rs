//! `journeyman install`: what an installation puts into a cluster, and what that changes there first.
//!
//! It is what `crds` and `rbac` print, applied by `kubectl` on the server's side, so that fields of others stay
//! theirs. What is there already is not touched.

use std::{
    io::{self, BufRead, Write},
    process::{Output, Stdio},
};

use crate::{
    crds,
    error::Error,
    installation::{KubectlArgs, answers, is_wanted},
    manifests::BadInput,
    rbac,
    screen::Screen,
};

/// Options of `install`.
#[derive(Clone, Debug, clap::Args)]
pub struct InstallArgs {
    /// Only show what would change.
    #[arg(long, conflicts_with = "yes")]
    pub diff: bool,
    /// Do not ask before it is applied.
    #[arg(short, long)]
    pub yes: bool,
    /// Where to.
    #[command(flatten)]
    pub place: KubectlArgs,
}

/// Every object, definitions first.
fn manifests() -> String {
    let definitions: String = crds::files().into_iter().map(|(_, text)| text).collect();
    format!("{definitions}---\n{}", rbac::ROLES)
}

impl InstallArgs {
    /// What `kubectl VERB` prints, which is given all objects. `None`: it is not there.
    fn kubectl(&self, verb: &str) -> Result<Output, BadInput> {
        let mut command = self.place.command();
        command.args([verb, "--server-side", "--force-conflicts", "--field-manager=journeyman"]);
        let started = command
            .args(["--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BadInput::one(
                "The command `kubectl` is not there: install it, or apply what `journeyman crds` and \
                 `journeyman rbac` print elsewhere.",
            ),
            _ => BadInput::one(format!("kubectl {verb}: {error}")),
        };
        let mut child = started.map_err(failed)?;
        let text = manifests();
        if let Some(mut input) = child.stdin.take() {
            match input.write_all(text.as_bytes()) {
                // It said why on its way out.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(failed(error));
                }
                _ => {}
            }
        }
        child.wait_with_output().map_err(failed)
    }
}

fn refused(verb: &str, output: &Output) -> BadInput {
    let said = String::from_utf8_lossy(&output.stderr);
    BadInput::one(format!("kubectl {verb}: {}", said.trim()))
}

/// Shows what would change, and applies it if that is wanted. `true`: the cluster has everything.
pub fn run(args: &InstallArgs, screen: Screen, out: &mut impl Write) -> Result<bool, Error> {
    run_with(args, answers().as_mut(), screen, out)
}

/// The same, where `answers` says what somebody answers, if there is anybody.
fn run_with(
    args: &InstallArgs,
    answers: Option<&mut impl BufRead>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, Error> {
    let diff = args.kubectl("diff")?;
    // 1 says that something differs; what is more is an error.
    match diff.status.code() {
        Some(0) => {
            screen.lines(
                "Nothing to do: the cluster has everything as it is in this release.",
                out,
            )?;
            return Ok(true);
        }
        Some(1) => {}
        _ => return Err(refused("diff", &diff).into()),
    }
    out.write_all(&diff.stdout)?;
    if args.diff {
        return Ok(false);
    }
    if !is_wanted(args.yes, "Apply this?", answers, out)? {
        screen.lines("Nothing was applied.", out)?;
        return Ok(false);
    }
    let applied = args.kubectl("apply")?;
    if !applied.status.success() {
        return Err(refused("apply", &applied).into());
    }
    out.write_all(&applied.stdout)?;
    screen.lines("Applied. `journeyman doctor CLUSTER` says what else is needed.", out)?;
    Ok(true)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt as _,
        path::{Path, PathBuf},
    };

    use super::*;

    /// A kubectl that keeps what it is given, and finds a difference as long as nothing was applied.
    const KUBECTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case " $* " in
*" diff "*) cat >"$here/asked"; [ -e "$here/applied" ] && exit 0
  [ -e "$here/broken" ] && { echo 'error: no way' >&2; exit 2; }
  echo '+ kind: NodePool'; exit 1 ;;
*" apply "*) cat >"$here/applied"; echo 'serverside-applied' ;;
esac
"#;

    fn kubectl(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("install-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("kubectl");
        fs::write(&path, KUBECTL).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn args(kubectl: &Path) -> InstallArgs {
        InstallArgs {
            diff: false,
            yes: false,
            place: KubectlArgs {
                context: Some("there".to_owned()),
                kubeconfig: None,
                kubectl: Some(kubectl.to_owned()),
            },
        }
    }

    fn installed(args: &InstallArgs, answer: Option<&str>) -> Result<(bool, String), String> {
        let mut out = Vec::new();
        let mut answer = answer.map(str::as_bytes);
        let outcome = run_with(args, answer.as_mut(), Screen::default(), &mut out);
        let outcome = outcome.map_err(|error| error.to_string())?;
        Ok((outcome, String::from_utf8(out).map_err(|error| error.to_string())?))
    }

    #[test]
    fn what_changes_is_shown_before_it_is_applied() {
        let path = kubectl("asked");
        let here = path.parent().unwrap();
        let refused = installed(&args(&path), None).unwrap_err();
        assert!(refused.contains("say --yes"), "{refused}");
        let (is_whole, said) = installed(&args(&path), Some("n\n")).unwrap();
        assert!(
            !is_whole && said.contains("+ kind: NodePool") && said.contains("Nothing was applied")
        );
        let only = InstallArgs { diff: true, ..args(&path) };
        assert_eq!(installed(&only, None), Ok((false, "+ kind: NodePool\n".to_owned())));
        assert!(!here.join("applied").exists());
        let (is_whole, said) = installed(&args(&path), Some("y\n")).unwrap();
        assert!(is_whole && said.contains("Applied."), "{said}");
        let applied = fs::read_to_string(here.join("applied")).unwrap();
        assert_eq!(applied, fs::read_to_string(here.join("asked")).unwrap());
        for kind in ["name: nodepools.karpenter.sh", "name: journeyman-launch", "kind: RoleBinding"]
        {
            assert!(applied.contains(kind), "{kind}");
        }
        let (is_whole, said) = installed(&args(&path), None).unwrap();
        assert!(is_whole && said.starts_with("Nothing to do"), "{said}");
        let calls = fs::read_to_string(here.join("calls")).unwrap();
        assert!(
            calls
                .lines()
                .all(|call| call.contains("--server-side") && call.contains("--context=there"))
        );
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn what_kubectl_complains_of_is_passed_on() {
        let path = kubectl("broken");
        let here = path.parent().unwrap();
        fs::write(here.join("broken"), "").unwrap();
        let yes = InstallArgs { yes: true, ..args(&path) };
        assert_eq!(installed(&yes, None).unwrap_err(), "kubectl diff: error: no way");
        assert!(!here.join("applied").exists());
        fs::remove_dir_all(here).unwrap();
        let none = installed(&args(Path::new("/no/such/kubectl")), None).unwrap_err();
        assert!(none.contains("`kubectl` is not there"), "{none}");
    }
}
