//! Symbols of a condition.

use crate::template::is_name;
use crate::value::quantity;

use super::Operand;

/// One symbol.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Operand(Operand),
    /// A name of a parameter.
    Name(String),
    /// An operator, a parenthesis or a word such as `and`.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token with text and column, from 1.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PositionedToken {
    pub(super) token: Token,
    pub(super) text: String,
    pub(super) column: usize,
}

/// Longer ones first.
const SYMBOLS: [&str; 14] = [
    "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "'",
];

const WORDS: [&str; 3] = ["and", "or", "not"];

/// Returns the symbols of a text, with [`Token::End`] as the last one.
pub(super) fn tokens(text: &str) -> Result<Vec<PositionedToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let column = text[..text.len() - rest.len()].chars().count() + 1;
        let (token, length) = next_token(rest, column)?;
        let end = token == Token::End;
        tokens.push(PositionedToken {
            token,
            text: rest[..length].to_owned(),
            column,
        });
        if end {
            return Ok(tokens);
        }
        rest = &rest[length..];
    }
}

/// Returns the first token of a text and the length of the token in bytes.
fn next_token(rest: &str, column: usize) -> Result<(Token, usize), String> {
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, 0));
    };
    if first.is_ascii_digit() {
        return read_number(rest, column);
    }
    let length = rest
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .unwrap_or(rest.len());
    let word = &rest[..length];
    if is_name(word) {
        let token = match word {
            "true" => Token::Operand(Operand::Boolean(true)),
            "false" => Token::Operand(Operand::Boolean(false)),
            _ => WORDS.iter().find(|known| **known == word).map_or_else(
                || Token::Name(word.to_owned()),
                |known| Token::Symbol(known),
            ),
        };
        return Ok((token, length));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(&"'") => {
            let inside = rest[1..]
                .find('\'')
                .ok_or_else(|| format!("a text is not closed at column {column}"))?;
            let text = rest[1..=inside].to_owned();
            Ok((Token::Operand(Operand::Text(text)), inside + 2))
        }
        Some(symbol) => Ok((Token::Symbol(symbol), symbol.len())),
        None => Err(format!("unknown operator '{first}' at column {column}")),
    }
}

/// Reads a number or a quantity: digits, a point, an exponent, letters of a unit.
fn read_number(rest: &str, column: usize) -> Result<(Token, usize), String> {
    let mut before = ' ';
    let length = rest
        .find(|letter: char| {
            let sign = "+-".contains(letter) && "eE".contains(before);
            before = letter;
            !(letter.is_alphanumeric() || letter == '.' || sign)
        })
        .unwrap_or(rest.len());
    let text = &rest[..length];
    let value = text.parse().ok().or_else(|| quantity(text).map(|it| it.0));
    value
        .map(|value| (Token::Operand(Operand::Number(value)), length))
        .ok_or_else(|| format!("unknown quantity '{text}' at column {column}"))
}
