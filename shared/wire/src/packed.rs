//! Texts of records in a few hundred bytes: the table is paid for by the kilobyte, with each read of it.
//!
//! Two thirds of a claim's record are words that every record has. A packed text is a deflate stream
//! (RFC 1951) that goes on where a stream of these words has ended, so that it refers to them without
//! holding them. Its first byte says which words: they never change, others get another number.
//! Pure: bytes in, bytes out.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

/// What the first byte is when the words are these.
const VERSION: u8 = 1;
/// What records have in common. Packed texts cannot be read without it: it is never changed.
const WORDS: &[u8] = include_bytes!("packed/words-1.txt");
/// Larger than the text of any item that DynamoDB takes; more is not unpacked.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Why packed bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackedError {
    /// There are none.
    #[error("there is nothing in it")]
    Empty,
    /// Another release packed them.
    #[error("it is packed in version {0}, only {VERSION} is supported")]
    Version(u8),
    /// They are not what was written.
    #[error("it cannot be unpacked: {0}")]
    Damaged(String),
}

/// `text` packed. Equal texts have equal bytes as long as the library that packs stays the same: nothing
/// compares them.
pub fn pack(text: &str) -> Vec<u8> {
    // Into memory: none of these writes can fail, and what is missing would not be unpacked.
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    drop(encoder.write_all(WORDS));
    drop(encoder.flush());
    let words_end = encoder.get_ref().len();
    drop(encoder.write_all(text.as_bytes()));
    let stream = encoder.finish().unwrap_or_default();
    let mut packed = vec![VERSION];
    packed.extend_from_slice(stream.get(words_end..).unwrap_or_default());
    packed
}

/// The text in `packed`.
pub fn unpack(packed: &[u8]) -> Result<String, PackedError> {
    let (version, rest) = packed.split_first().ok_or(PackedError::Empty)?;
    if *version != VERSION {
        return Err(PackedError::Version(*version));
    }
    let damaged = |error: &dyn std::fmt::Display| PackedError::Damaged(error.to_string());
    let head = stored(WORDS);
    let whole = u64::try_from(WORDS.len()).unwrap_or(u64::MAX).saturating_add(TEXT_BYTES_MAX);
    let mut text = Vec::new();
    let mut decoder = DeflateDecoder::new(head.as_slice().chain(rest)).take(whole);
    decoder.read_to_end(&mut text).map_err(|error| damaged(&error))?;
    let text = text.split_off(WORDS.len().min(text.len()));
    String::from_utf8(text).map_err(|error| damaged(&error))
}

/// The beginning of a deflate stream that holds `words` as they are: a stored block, which is not the last
/// one (RFC 1951 §3.2.4).
fn stored(words: &[u8]) -> Vec<u8> {
    // The words have less than the 65,535 bytes that one block holds.
    let length = u16::try_from(words.len()).unwrap_or(u16::MAX);
    let mut block = vec![0];
    block.extend_from_slice(&length.to_le_bytes());
    block.extend_from_slice(&(!length).to_le_bytes());
    block.extend_from_slice(words);
    block
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Packed by an earlier build of this module.
    const EARLIER: &[u8] = include_bytes!("packed/earlier-1.bin");

    #[test]
    fn what_was_packed_earlier_is_read() {
        assert_eq!(unpack(EARLIER).unwrap(), r#"{"v":1,"name":"general-7-0","version":3}"#);
    }

    #[test]
    fn what_is_no_packed_text_is_refused() {
        assert_eq!(unpack(&[]), Err(PackedError::Empty));
        assert_eq!(unpack(&[2, 3, 0]), Err(PackedError::Version(2)));
        let whole = pack("a text that is cut off");
        for length in 1..whole.len() {
            assert!(matches!(unpack(&whole[..length]), Err(PackedError::Damaged(_))), "{length}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_unpacked_as_it_was(text in ".{0,400}") {
            prop_assert_eq!(unpack(&pack(&text)), Ok(text));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut packed = vec![VERSION];
            packed.extend(bytes);
            drop(unpack(&packed));
        }
    }
}
