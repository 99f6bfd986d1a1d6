//! In which forms commands print: the option `-o`.

use clap::{
    ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

/// How a command prints. Each command has some of these forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    #[value(alias = "text")]
    Table,
    /// Text with more columns.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// One name a line.
    Name,
}

impl Format {
    /// The forms of an answer that is one document.
    pub const DOCUMENT: &[Self] = &[Self::Table, Self::Json, Self::Yaml];
    /// The forms of a list of things that have names.
    pub const LIST: &[Self] = &[Self::Table, Self::Json, Self::Yaml, Self::Name];

    /// Reads one of `formats`: help lists them, and an error of another.
    pub fn one_of(formats: &'static [Self]) -> impl TypedValueParser<Value = Self> {
        let values = formats.iter().filter_map(ValueEnum::to_possible_value);
        PossibleValuesParser::new(values).try_map(|text| Self::from_str(&text, false))
    }

    /// Whether programs read it.
    pub const fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}
