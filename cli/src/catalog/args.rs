//! Options of `catalog`.

use std::path::PathBuf;

use clap::ValueEnum;
use report::format::Format;

use crate::options::SetArgs;

/// Options of `catalog`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CatalogArgs {
    /// Read EC2 responses from a directory: `describe-instance-types*.json`,
    /// `describe-instance-type-offerings*.json` (also as `.gz`), `limits*.json` and `prices*.json`.
    /// Default: built-in.
    #[arg(long, value_name = "DIR", conflicts_with = "live")]
    pub from: Option<PathBuf>,
    /// Read types and prices from AWS. Changes nothing.
    #[arg(long)]
    pub live: bool,
    /// With --live: AWS region. Default: AWS_REGION or the AWS profile.
    #[arg(long, value_name = "REGION", requires = "live")]
    pub region: Option<String>,
    /// Calculate for this EC2NodeClass (`kubectl get -o yaml`).
    #[arg(long, value_name = "FILE")]
    pub node_class: Option<PathBuf>,
    /// Read the free instances of capacity reservations from a DescribeCapacityReservations
    /// response.
    #[arg(long, value_name = "FILE")]
    pub capacity_reservations: Option<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub settings: SetArgs,
    /// Show only types with one of these values of a label: `arch=arm64`, `category=c,m`, `cpu=4`,
    /// `zone=us-west-2a`, or a full label name. Repeat the option for other labels.
    #[arg(long = "where", value_name = "LABEL=VALUE,…")]
    pub filters: Vec<String>,
    /// Show only offerings of this capacity type: `on-demand`, `spot` or `reserved`.
    #[arg(long, value_name = "TYPE")]
    pub capacity_type: Option<String>,
    /// Order of the table.
    #[arg(long, value_enum, default_value_t)]
    pub sort: CatalogOrder,
    /// Maximum number of lines in the table.
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::LIST), default_value_t)]
    pub output: Format,
}

/// What comes first in a table of instance types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CatalogOrder {
    /// Lowest price per vCPU first.
    #[default]
    PricePerVcpu,
    /// Lowest price per GiB of memory first.
    PricePerGib,
    /// Lowest price first.
    Price,
    /// By name.
    Name,
}
