//! Laws of reading and writing archives.

use proptest::{collection::vec, prelude::*};

use super::*;

fn part() -> impl Strategy<Value = Part> {
    ("[a-z]{1,9}/[a-z]{1,9}", "[ -.0-~\n/]{0,60}")
        .prop_filter("a body holds no delimiter", |(_, body)| !body.lines().any(is_delimiter))
        .prop_map(|(content_type, body)| Part::new(content_type, body))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_reads_back(parts in vec(part(), 0..4)) {
        let written = write(&parts).unwrap();
        prop_assert_eq!(&parse(&written, Keep::ContentType).unwrap(), &parts);
        prop_assert_eq!(parse(&written, Keep::All).unwrap(), parts);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(--B|--|\n|:|[ -~]){0,30}") {
        let archive = format!("Content-Type: multipart/mixed; boundary=B\n\n{text}");
        if let Ok(parts) = parse(&archive, Keep::ContentType) {
            prop_assert!(parts.len() <= text.matches("--B").count());
        }
    }
}
