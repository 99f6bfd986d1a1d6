//! EC2's wildcards: `*` is any text, `?` any one character, and a backslash takes the next as it is.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html>

/// Whether `text` is what `pattern` describes, as a whole. It takes as long as both are, multiplied.
pub fn is_like(pattern: &str, text: &str) -> bool {
    let pattern = tokens(pattern);
    let text: Vec<char> = text.chars().collect();
    // Which lengths of `text` the tokens so far can describe.
    let mut reached = vec![false; text.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for token in pattern {
        let mut next = vec![false; reached.len()];
        let mut is_open = false;
        for (index, is_reached) in reached.iter().enumerate() {
            is_open |= *is_reached;
            let target = match token {
                Token::Any if is_open => Some(index),
                Token::One if *is_reached => Some(index + 1),
                Token::Is(c) if *is_reached && text.get(index) == Some(&c) => Some(index + 1),
                Token::Any | Token::One | Token::Is(_) => None,
            };
            if let Some(slot) = target.and_then(|target| next.get_mut(target)) {
                *slot = true;
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

#[derive(Clone, Copy)]
enum Token {
    Any,
    One,
    Is(char),
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        tokens.push(match c {
            '*' => Token::Any,
            '?' => Token::One,
            '\\' => Token::Is(characters.next().unwrap_or('\\')),
            c => Token::Is(c),
        });
    }
    tokens
}
