//! Options of `catalog`.

use std::path::PathBuf;

use clap::ValueEnum;
use report::format::Format;

use crate::options::SetArgs;

/// Options of `catalog`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CatalogArgs {
    /// EC2's answers: `describe-instance-types*.json`, `describe-instance-type-offerings*.json` (each
    /// may be compressed: `.gz`), `limits*.json` and `prices*.json`. The built-in ones otherwise.
    #[arg(long, value_name = "DIR", conflicts_with = "live")]
    pub from: Option<PathBuf>,
    /// Ask AWS. Nothing is changed.
    #[arg(long)]
    pub live: bool,
    /// With --live: another region than that of AWS_REGION or of the profile.
    #[arg(long, value_name = "REGION", requires = "live")]
    pub region: Option<String>,
    /// An EC2NodeClass as the cluster has it.
    #[arg(long, value_name = "FILE")]
    pub node_class: Option<PathBuf>,
    /// An answer of DescribeCapacityReservations: how many instances are left.
    #[arg(long, value_name = "FILE")]
    pub capacity_reservations: Option<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub settings: SetArgs,
    /// Only types with one of these values of a label: `arch=arm64`, `category=c,m`, `cpu=4`,
    /// `zone=us-west-2a`, or a label's whole name. One for each label.
    #[arg(long = "where", value_name = "LABEL=VALUE,…")]
    pub filters: Vec<String>,
    /// Only offerings of this capacity type: `on-demand`, `spot` or `reserved`.
    #[arg(long, value_name = "TYPE")]
    pub capacity_type: Option<String>,
    /// What comes first in the table.
    #[arg(long, value_enum, default_value_t)]
    pub sort: CatalogOrder,
    /// How many lines the table has at most.
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::LIST), default_value_t)]
    pub output: Format,
}

/// What comes first in a table of instance types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CatalogOrder {
    /// The cheapest CPU.
    #[default]
    PricePerVcpu,
    /// The cheapest memory.
    PricePerGib,
    /// The cheapest type.
    Price,
    /// By name.
    Name,
}
