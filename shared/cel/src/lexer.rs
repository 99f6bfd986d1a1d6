//! Text → words, numbers, texts and symbols.

use crate::{LENGTH_MAX, error::CompileError};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Word(String),
    /// Without its sign.
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Symbol(&'static str),
    End,
}

/// The longer before those that they begin with.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// All tokens of `text` with the characters before each, [`Token::End`] last.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, CompileError> {
    if text.len() > LENGTH_MAX {
        let words = format!("longer than {LENGTH_MAX} bytes");
        return Err(CompileError { at: 0, words });
    }
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, at));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn is_over(&self) -> bool {
        self.at >= self.chars.len()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.chars.get(self.at + ahead) == Some(&c))
    }

    fn wrong<T>(&self, words: impl Into<String>) -> Result<T, CompileError> {
        Err(CompileError { at: self.at, words: words.into() })
    }

    /// The characters from here on that `is_part`.
    fn run(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let run: String = rest.iter().copied().take_while(|c| is_part(*c)).collect();
        self.at += run.chars().count();
        run
    }

    fn skip_blanks(&mut self) {
        loop {
            let blanks = self.run(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if self.starts_with("//") {
                self.run(|c| c != '\n');
            } else if blanks.is_empty() {
                return;
            }
        }
    }

    fn token(&mut self) -> Result<Token, CompileError> {
        if self.is_over() {
            return Ok(Token::End);
        }
        let first = self.peek(0);
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_ascii_digit()) {
            return self.number();
        }
        if matches!(first, '"' | '\'') {
            return self.text(false);
        }
        if matches!(first, 'r' | 'R') && matches!(self.peek(1), '"' | '\'') {
            self.at += 1;
            return self.text(true);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Word(self.run(|c| c.is_ascii_alphanumeric() || c == '_')));
        }
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.starts_with(symbol)) else {
            return self.wrong(format!("unexpected character {first:?}"));
        };
        self.at += symbol.len();
        Ok(Token::Symbol(symbol))
    }

    fn number(&mut self) -> Result<Token, CompileError> {
        let start = self.at;
        let (mut digits, mut radix) = (String::new(), 10);
        if self.starts_with("0x") {
            self.at += 2;
            radix = 16;
        } else {
            digits = self.run(|c| c.is_ascii_digit());
            let mut is_double = false;
            if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
                self.at += 1;
                let fraction = self.run(|c| c.is_ascii_digit());
                digits = format!("{digits}.{fraction}");
                is_double = true;
            }
            let sign = usize::from(matches!(self.peek(1), '+' | '-'));
            if matches!(self.peek(0), 'e' | 'E') && self.peek(1 + sign).is_ascii_digit() {
                digits.push('e');
                digits.extend((sign > 0).then(|| self.peek(1)));
                self.at += 1 + sign;
                digits.push_str(&self.run(|c| c.is_ascii_digit()));
                is_double = true;
            }
            if is_double {
                let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
                return number.map(Token::Double).ok_or_else(|| too_large(start));
            }
        }
        if radix == 16 {
            digits = self.run(|c| c.is_ascii_hexdigit());
        }
        let number = u64::from_str_radix(&digits, radix).map_err(|_| too_large(start))?;
        let is_unsigned = matches!(self.peek(0), 'u' | 'U');
        self.at += usize::from(is_unsigned);
        if self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
            return self.wrong("a number must end before a letter or a digit");
        }
        Ok(if is_unsigned { Token::Uint(number) } else { Token::Int(number) })
    }

    fn text(&mut self, is_raw: bool) -> Result<Token, CompileError> {
        let quote = self.peek(0);
        let triple: String = [quote; 3].iter().collect();
        let end = if self.starts_with(&triple) { triple } else { quote.to_string() };
        self.at += end.len();
        let mut text = String::new();
        while !self.starts_with(&end) {
            let next = self.peek(0);
            if self.is_over() || (end.len() == 1 && matches!(next, '\n' | '\r')) {
                return self.wrong("a string must end with its quote");
            }
            if next == '\\' && !is_raw {
                text.push(self.escaped()?);
            } else {
                text.push(next);
                self.at += 1;
            }
        }
        self.at += end.len();
        Ok(Token::Text(text))
    }

    /// The character that a backslash and what comes after it stand for.
    fn escaped(&mut self) -> Result<char, CompileError> {
        let (length, radix) = match self.peek(1) {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => (3, 8),
            single => {
                let letters = "abfnrtv\\?\"'`".chars().zip("\x07\x08\x0c\n\r\t\x0b\\?\"'`".chars());
                let Some((_, meant)) = letters.into_iter().find(|(letter, _)| *letter == single)
                else {
                    return self.wrong("unknown escape in a string");
                };
                self.at += 2;
                return Ok(meant);
            }
        };
        let start = self.at + if radix == 16 { 2 } else { 1 };
        let digits: String = self.chars.iter().skip(start).take(length).collect();
        let is_whole =
            digits.chars().count() == length && digits.chars().all(|c| c.is_digit(radix));
        let code = u32::from_str_radix(&digits, radix).ok().filter(|_| is_whole);
        let Some(meant) = code.and_then(char::from_u32) else {
            return self.wrong("an escape in a string is no character");
        };
        self.at = start + length;
        Ok(meant)
    }
}

fn too_large(at: usize) -> CompileError {
    CompileError { at, words: "a number is too large, or none".to_owned() }
}
