//! Facts as they are recorded with a decision: everything that it was made on, in few bytes.
//!
//! The first byte is the version of the form; the rest is a deflate stream (RFC 1951). In version 3
//! (`recorded/codec.rs`) each member has a number: a reader skips members that it does not know and takes those
//! that are missing for zero, so that releases read each other's records. Version 2, of c7ddc5b, is read too
//! (`recorded/positional.rs`). Functions only write; the command `journeyman` reads. Pure: values in, bytes out.

mod cluster;
mod codec;
mod devices;
mod ledger;
mod macros;
mod numbered;
mod pools;
mod positional;
mod values;

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use model::{
    Plan,
    facts::Facts,
    recorded::{Question, RecordedFacts},
};

use codec::{Damaged, Stored as _, Writer};

/// The first byte of what is written. It is raised only with a change of the form: a new member has a new number.
const VERSION: u8 = 3;
/// The first byte of the positional form.
const VERSION_POSITIONAL: u8 = 2;
/// More is not unpacked: the largest cluster takes a tenth of it.
const BYTES_MAX: u64 = 256 << 20;
/// Bytes of one part. An item of DynamoDB has 400 KB at most, its key included.
pub const PART_BYTES_MAX: usize = 350_000;

/// Why recorded facts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableFacts {
    /// There are none.
    #[error("there is nothing in them")]
    Empty,
    /// Another release wrote them.
    #[error(
        "they were recorded by another release and cannot be read: they are of version {0}, only \
         {VERSION_POSITIONAL} and {VERSION} are supported"
    )]
    Version(u8),
    /// They are not what was written: perhaps a part of them is gone.
    #[error("they are damaged: {0}")]
    Damaged(String),
}

/// The question, the facts and the plan as bytes, from which [`decode`] makes [`RecordedFacts`]. Equal values have
/// equal bytes as long as the library that packs stays the same.
pub fn encode(question: &Question, facts: &Facts, plan: &Plan) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.structure(&[(1, question), (2, facts), (3, plan)]);
    // Into memory: none of these writes can fail, and what is missing would not be unpacked.
    let mut encoder = DeflateEncoder::new(vec![VERSION], Compression::default());
    drop(encoder.write_all(&writer.finish()));
    encoder.finish().unwrap_or_default()
}

/// What [`encode`] made `bytes` of.
pub fn decode(bytes: &[u8]) -> Result<RecordedFacts, UnreadableFacts> {
    let (version, packed) = bytes.split_first().ok_or(UnreadableFacts::Empty)?;
    let read = match *version {
        VERSION => numbered,
        VERSION_POSITIONAL => positional,
        other => return Err(UnreadableFacts::Version(other)),
    };
    let mut unpacked = Vec::new();
    let inflated = DeflateDecoder::new(packed).take(BYTES_MAX).read_to_end(&mut unpacked);
    inflated.map_err(|error| UnreadableFacts::Damaged(error.to_string()))?;
    read(&unpacked).map_err(UnreadableFacts::Damaged)
}

fn numbered(unpacked: &[u8]) -> Result<RecordedFacts, Damaged> {
    let mut reader = numbered::Reader::of(unpacked)?;
    let recorded = RecordedFacts::take(&mut reader)?;
    reader.end().map(|()| recorded)
}

fn positional(unpacked: &[u8]) -> Result<RecordedFacts, Damaged> {
    let mut reader = positional::Reader::of(unpacked)?;
    let recorded = RecordedFacts::take(&mut reader)?;
    reader.end().map(|()| recorded)
}

#[cfg(test)]
mod tests;
