//! Options that several commands have, and the settings that options stand for.

use std::{env, path::PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dispatch::{Allowed, InvalidSetting, SETTINGS, Setting, Settings};
use jiff::SignedDuration;
use report::error::BadInput;

use crate::{manifests::Depth, near};

/// Manifests by kubectl's own options.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MoreManifests {
    /// Read manifests from files, directories, or `-` (standard input). Repeat the option or use
    /// commas.
    #[arg(short = 'f', long = "filename", value_name = "DIR|FILE", value_delimiter = ',')]
    pub filenames: Vec<PathBuf>,
    /// Read directories recursively.
    #[arg(short = 'R', long)]
    pub recursive: bool,
}

impl MoreManifests {
    /// Those that were `named` without an option, and these.
    pub fn after(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        [named, &self.filenames].concat()
    }

    /// How deep directories are read.
    pub const fn depth(&self) -> Depth {
        Depth::of(self.recursive)
    }
}

/// Settings of the functions, by the names of the stack's parameters and by Karpenter's own options.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SetArgs {
    /// Set Karpenter's feature gates, such as `NodeOverlay=true,ReservedCapacity=false`.
    #[arg(long, value_name = "NAME=BOOL,…", default_value = "", hide_default_value = true)]
    pub feature_gates: String,
    /// Set feature gates of Karpenter's AWS provider, such as `NodeClassCEL=true`.
    #[arg(long, value_name = "NAME=BOOL,…", default_value = "", hide_default_value = true)]
    pub aws_feature_gates: String,
    /// Network interfaces of each node that pods do not use.
    #[arg(long = "reserved-enis", value_name = "NUMBER")]
    pub reserved_enis: Option<String>,
    /// Fraction of each instance type's memory that the VM uses itself, such as `0.075`.
    #[arg(long, value_name = "DECIMAL")]
    pub vm_memory_overhead_percent: Option<String>,
    /// Change a setting of the stack, such as `Packing=cheapest` (docs/settings.md lists all). An
    /// option for the same setting takes precedence.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
}

/// An option that stands for a setting: the option, the setting's parameter, and the value if it is given.
pub(crate) type SettingOption<'a> = (&'static str, &'static str, Option<&'a str>);

impl SetArgs {
    /// The defaults, changed by these options and by `others`.
    pub(crate) fn read(&self, others: &[SettingOption<'_>]) -> Result<Settings, BadInput> {
        let mut settings = Settings::default();
        self.apply(&mut settings, others)?;
        Ok(settings)
    }

    /// Changes `settings` as `--set` says, then as these options and `others` say, then as `--feature-gates` and
    /// `--aws-feature-gates` say.
    pub(crate) fn apply(
        &self,
        settings: &mut Settings,
        others: &[SettingOption<'_>],
    ) -> Result<(), BadInput> {
        for text in &self.settings {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| BadInput::one(format!("--set {text}: must be NAME=VALUE")))?;
            let setting = setting(name).map_err(|why| BadInput::one(format!("--set: {why}")))?;
            set(settings, setting, &format!("--set {name}"), value)?;
        }
        let node_options = [
            ("--reserved-enis", "ReservedEnis", self.reserved_enis.as_deref()),
            (
                "--vm-memory-overhead-percent",
                "VmMemoryOverheadPercent",
                self.vm_memory_overhead_percent.as_deref(),
            ),
        ];
        for (option, parameter, value) in node_options.iter().chain(others) {
            if let Some(value) = value {
                let setting = setting(parameter).map_err(BadInput::one)?;
                set(settings, setting, option, value)?;
            }
        }
        for (option, gates) in [
            ("--feature-gates", &self.feature_gates),
            ("--aws-feature-gates", &self.aws_feature_gates),
        ] {
            let gated = settings.policies.set_gates(gates);
            gated.map_err(|error| BadInput::one(format!("{option}: {error}")))?;
        }
        settings.nodes.reserved_capacity = settings.policies.reserved_capacity;
        Ok(())
    }
}

/// Changes `settings` as the variables of the functions say that are set here. Returns these, as `NAME=VALUE`.
#[expect(
    clippy::disallowed_methods,
    reason = "a command plays functions, whose variables these are"
)]
pub(crate) fn set_from_environment(settings: &mut Settings) -> Result<Vec<String>, BadInput> {
    set_from(settings, |name| env::var(name).ok())
}

fn set_from(
    settings: &mut Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, BadInput> {
    let mut changed = Vec::new();
    for setting in &SETTINGS {
        if let Some(value) = variable(setting.variable) {
            set(settings, setting, setting.variable, &value)?;
            changed.push(format!("{}={value}", setting.variable));
        }
    }
    settings.nodes.reserved_capacity = settings.policies.reserved_capacity;
    Ok(changed)
}

fn set(
    settings: &mut Settings,
    setting: &Setting,
    name: &str,
    value: &str,
) -> Result<(), BadInput> {
    let changed = settings.change(setting, name, value);
    changed.map_err(|error: InvalidSetting| BadInput::one(error.to_string()))
}

/// The setting of the stack's parameter `name`; the error names similar ones, or all.
pub(crate) fn setting(name: &str) -> Result<&'static Setting, String> {
    let setting = SETTINGS.iter().find(|setting| setting.parameter == name);
    setting.ok_or_else(|| {
        let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.parameter).collect();
        let near = near::did_you_mean(name, names.iter().copied());
        if near.is_empty() {
            return format!("`{name}` is no setting: there are {}", names.join(", "));
        }
        format!("`{name}` is no setting{near}")
    })
}

/// Other spellings of words of settings.
const SPELLINGS: [(&str, &str); 4] = [
    ("Respect", "respect"),
    ("Ignore", "ignore"),
    ("Strict", "strict"),
    ("BestEffort", "best-effort"),
];

/// Reads one of the words of the setting `parameter`, as the setting spells it.
pub(crate) fn word_of(parameter: &str) -> impl TypedValueParser<Value = String> + use<> {
    let words: &[&str] = match setting(parameter).map(|setting| setting.allowed) {
        Ok(Allowed::OneOf(words)) => words,
        _ => &[],
    };
    let value = |word: &&'static str| {
        let spellings = SPELLINGS.iter().filter(|(spelled, _)| spelled == word);
        PossibleValue::new(*word).aliases(spellings.map(|(_, spelling)| *spelling))
    };
    PossibleValuesParser::new(words.iter().map(value)).map(|text| {
        let word = SPELLINGS.iter().find(|(_, spelling)| *spelling == text);
        word.map_or(text, |(word, _)| (*word).to_owned())
    })
}

/// Reads a duration such as `45m`, which `what` has; it is not negative.
pub(crate) fn duration(what: &str, text: &str) -> Result<SignedDuration, BadInput> {
    match model::duration::parse_go(text) {
        Ok(duration) if duration.is_negative() => {
            Err(BadInput::one(format!("{what}: `{text}` must not be negative")))
        }
        Ok(duration) => Ok(duration),
        Err(error) => Err(BadInput::one(format!("{what}: {error}"))),
    }
}

/// Options of `completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell to print completions for.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {
    /// Directory for the pages; `man` creates it if it is missing.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_functions_change_settings_and_options_win() {
        let variable = |name: &str| match name {
            "JOURNEYMAN_PACKING" => Some("cheapest".to_owned()),
            "JOURNEYMAN_FEATURE_GATES" => Some("NodeOverlay=true".to_owned()),
            _ => None,
        };
        let mut settings = Settings::default();
        let changed = set_from(&mut settings, variable).unwrap();
        assert_eq!(
            changed,
            ["JOURNEYMAN_FEATURE_GATES=NodeOverlay=true", "JOURNEYMAN_PACKING=cheapest"]
        );
        assert!(settings.policies.node_overlay);
        let set = SetArgs { settings: vec!["Packing=karpenter".to_owned()], ..SetArgs::default() };
        set.apply(&mut settings, &[]).unwrap();
        assert_eq!(settings.policies.packing, model::policies::Packing::Karpenter);
        let wrong =
            set_from(&mut settings, |name| (name == "JOURNEYMAN_PACKING").then(|| "x".to_owned()));
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "JOURNEYMAN_PACKING: `x` is not `karpenter` or `cheapest`"
        );
    }
}
