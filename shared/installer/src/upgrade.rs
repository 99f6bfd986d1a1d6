//! `journeyman upgrade` and `journeyman rollback`: a deployment from one release to another, with checks before it.

use std::io::Write;

use report::{command::RunCommand, error::CommandError, screen::Screen};

use crate::{
    deploy::{Aim, DeployArgs, Order, Source, StackArgs},
    installation::answers,
};

/// Options of `upgrade`.
#[derive(Clone, Debug, clap::Args)]
pub struct UpgradeArgs {
    /// Upgrade although you cannot go back, or items of the ledger cannot be read.
    #[arg(long)]
    pub force: bool,
    /// What is deployed.
    #[command(flatten)]
    pub deploy: DeployArgs,
}

impl RunCommand for UpgradeArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let order = self.deploy.order(Aim::Upgrade { is_forced: self.force });
        order.carry_out(answers().as_mut(), screen, &mut { out })
    }
}

/// Options of `rollback`.
#[derive(Clone, Debug, clap::Args)]
pub struct RollbackArgs {
    /// Roll back although it is unknown whether the former release can read the ledger.
    #[arg(long)]
    pub force: bool,
    /// Which stack, and how.
    #[command(flatten)]
    pub stack: StackArgs,
}

impl RunCommand for RollbackArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let aim = Aim::Rollback { is_forced: self.force };
        let order = Order { aim, source: Source::Former, deploy: None, stack: &self.stack };
        order.carry_out(answers().as_mut(), screen, &mut { out })
    }
}
