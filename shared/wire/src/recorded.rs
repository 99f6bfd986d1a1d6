//! Facts as they are recorded with a decision: everything that it was made on, in few bytes.
//!
//! The first byte says by which list of members the rest was written (`VERSION`); the rest is a deflate
//! stream (RFC 1951) of all words, each once, and of numbers that name them. Only the very same list reads it
//! again: a release that changes what decisions look at does not read what others recorded, and says so.
//! Functions only write; the command `journeyman` reads. Pure: values in, bytes out.

mod cluster;
mod codec;
mod ledger;
mod pools;
mod values;

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use model::{
    Plan,
    facts::Facts,
    recorded::{Question, RecordedFacts},
};

use codec::{Reader, Stored as _, Writer};

/// What the first byte is. It is raised with every change of a list of members, or of what a member means.
const VERSION: u8 = 2;
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
        "they were recorded by another release and cannot be read: they are of version {0}, only {VERSION} \
         is supported"
    )]
    Version(u8),
    /// They are not what was written: perhaps a part of them is gone.
    #[error("they are damaged: {0}")]
    Damaged(String),
}

/// What was asked, looked at and decided as bytes, from which [`decode`] makes [`RecordedFacts`]. Equal values have
/// equal bytes as long as the library that packs stays the same.
pub fn encode(question: &Question, facts: &Facts, plan: &Plan) -> Vec<u8> {
    let mut writer = Writer::default();
    question.put(&mut writer);
    facts.put(&mut writer);
    plan.put(&mut writer);
    // Into memory: none of these writes can fail, and what is missing would not be unpacked.
    let mut encoder = DeflateEncoder::new(vec![VERSION], Compression::default());
    drop(encoder.write_all(&writer.finish()));
    encoder.finish().unwrap_or_default()
}

/// What [`encode`] made `bytes` of.
pub fn decode(bytes: &[u8]) -> Result<RecordedFacts, UnreadableFacts> {
    let (version, packed) = bytes.split_first().ok_or(UnreadableFacts::Empty)?;
    if *version != VERSION {
        return Err(UnreadableFacts::Version(*version));
    }
    let mut unpacked = Vec::new();
    let read = DeflateDecoder::new(packed).take(BYTES_MAX).read_to_end(&mut unpacked);
    read.map_err(|error| UnreadableFacts::Damaged(error.to_string()))?;
    let whole = |unpacked| {
        let mut reader = Reader::of(unpacked)?;
        let recorded = RecordedFacts::take(&mut reader)?;
        reader.end()?;
        Ok(recorded)
    };
    whole(&unpacked).map_err(UnreadableFacts::Damaged)
}

#[cfg(test)]
mod tests;
