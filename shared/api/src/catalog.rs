//! Catalogs of instance types: as JSON, and the one that is built in.

use model::Catalog;

/// Why a text is not a catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("catalog: {0}")]
pub struct Error(pub String);

/// Reads what `journeyman catalog -o json` prints.
pub fn read(_json: &str) -> Result<Catalog, Error> {
    Err(Error(String::new()))
}

/// The catalog that comes with the program: us-west-2. See `data/README.md`.
pub fn builtin() -> Result<Catalog, Error> {
    Err(Error(String::new()))
}
