//! `journeyman deploy`: from the files of a release to a running stack, without AWS SAM. `upgrade` and `rollback` are
//! deployments with checks before.
//!
//! It does what `install` does, because newer functions may need new rights. Then the files go to a bucket, CloudFormation
//! compares the template with the stack, the user sees the changes, and the stack changes. Then it does what `doctor` does.
//! The template itself says which parameters there are.

pub mod changes;
pub mod files;
pub mod history;
mod order;
pub mod outcome;
pub mod parameters;
pub mod passage;
mod stack;

use std::{io::Write, path::PathBuf};

use report::{command::RunCommand, error::CommandError, screen::Screen};

pub(crate) use order::{Aim, Order, Source};

use crate::{
    installation::{InstallationArgs, answers},
    live::RoleArgs,
    wake::WakeArgs,
};

/// Options of a command that changes a stack.
#[derive(Clone, Debug, clap::Args)]
pub struct StackArgs {
    /// S3 bucket for the files, in the region of the cluster. Default: that of the stack, or else
    /// journeyman-ACCOUNT-REGION, which `deploy` creates if it is missing.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    /// What the keys of the files in the bucket begin with. Default: that of the stack, or else
    /// `journeyman/`.
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// Name of the CloudFormation stack.
    #[arg(long, value_name = "NAME", default_value = "journeyman")]
    pub stack_name: String,
    /// Show the changes and exit. Uploads the files.
    #[arg(long, conflicts_with = "yes")]
    pub diff: bool,
    /// Change the stack only: no CRDs and RBAC rules, no checks. Needs no access to the cluster.
    #[arg(long)]
    pub stack_only: bool,
    /// Maximum minutes to wait for the stack.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub wait: u32,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Where to.
    #[command(flatten)]
    pub place: InstallationArgs,
}

/// Options of `deploy`.
#[derive(Clone, Debug, clap::Args)]
pub struct DeployArgs {
    /// Directory of an unpacked release: `template.yaml` and the zips of the functions. They are
    /// uploaded to the bucket. Without it, the bucket has them.
    #[arg(long, value_name = "DIR", required_unless_present = "bucket")]
    pub release: Option<PathBuf>,
    /// Set a parameter of the stack, such as `Packing=cheapest` (docs/settings.md lists all).
    /// Default: the value in the stack, or else the template's default.
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Which roles the functions have.
    #[command(flatten)]
    pub roles: RoleArgs,
    /// How the cluster calls `wake`.
    #[command(flatten)]
    pub wake: WakeArgs,
    /// Which stack, and how.
    #[command(flatten)]
    pub stack: StackArgs,
}

impl DeployArgs {
    /// The order to bring this release into place.
    pub(crate) fn order(&self, aim: Aim) -> Order<'_> {
        let source = self.release.as_deref().map_or(Source::Bucket, Source::Directory);
        Order { aim, source, deploy: Some(self), stack: &self.stack }
    }
}

impl RunCommand for DeployArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        self.order(Aim::Deploy).carry_out(answers().as_mut(), screen, &mut { out })
    }
}
