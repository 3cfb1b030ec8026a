//! Conditions of points: `where = "ranks <= 512 or size < 64KiB"`.
//!
//! Operators by precedence: `or`; `and`; `not`; `== != < <= > >=`; `+ -`; `* / %`; a sign. Operands
//! are numbers, quantities (`64KiB`), texts in single quotes (`'ring'`), `true`, `false`, names of
//! parameters and parentheses. Arithmetic is `f64` arithmetic; quantities are numbers in their base
//! unit. Comparisons do not chain.
//!
//! General languages (`rhai`, `evalexpr`) have loops, assignments or functions that a study file
//! must not have, and no quantities such as `64KiB`. Tables of TOML as conditions would be
//! unreadable with `or`.

mod lexer;
mod parser;

use std::cmp::Ordering;

use crate::point::Assignment;
use crate::value::Value;

/// A condition of points.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression(ExpressionNode);

#[derive(Clone, PartialEq, Debug)]
enum ExpressionNode {
    Constant(Operand),
    Name(String),
    Not(Box<Self>),
    Negative(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
}

#[derive(Clone, PartialEq, Debug)]
enum Operand {
    Boolean(bool),
    Number(f64),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Expression {
    /// Reads a condition.
    pub fn new(text: &str) -> Result<Self, String> {
        parser::parse_condition(&lexer::tokens(text)?).map(Self)
    }

    /// Returns the names of parameters in the condition, in order.
    pub fn parameter_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.collect_names(&mut names);
        names
    }

    /// Returns true if the assignment satisfies the condition.
    pub fn holds(&self, assignment: &Assignment) -> Result<bool, String> {
        self.0.evaluate(assignment)?.boolean()
    }
}

impl ExpressionNode {
    fn collect_names<'n>(&'n self, names: &mut Vec<&'n str>) {
        match self {
            Self::Constant(_) => {}
            Self::Name(name) => names.push(name),
            Self::Not(inner) | Self::Negative(inner) => inner.collect_names(names),
            Self::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
        }
    }

    fn evaluate(&self, assignment: &Assignment) -> Result<Operand, String> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Name(name) => assignment
                .get(name)
                .map(Operand::from_value)
                .ok_or_else(|| format!("parameter {name} has no value")),
            Self::Not(inner) => Ok(Operand::Boolean(!inner.evaluate(assignment)?.boolean()?)),
            Self::Negative(inner) => Ok(Operand::Number(-inner.evaluate(assignment)?.to_number()?)),
            Self::Binary(operator, left, right) => {
                // Both sides, so that a mistake does not depend on the values of a point.
                let left = left.evaluate(assignment)?;
                let right = right.evaluate(assignment)?;
                operator.apply_operator(&left, &right)
            }
        }
    }
}

impl Operator {
    fn apply_operator(self, left: &Operand, right: &Operand) -> Result<Operand, String> {
        let numbers = |result: fn(f64, f64) -> f64| {
            Ok(Operand::Number(result(
                left.to_number()?,
                right.to_number()?,
            )))
        };
        let ordered = |holds: fn(Ordering) -> bool| {
            let order = left.to_number()?.partial_cmp(&right.to_number()?);
            Ok(Operand::Boolean(order.is_some_and(holds)))
        };
        match self {
            Self::Or => Ok(Operand::Boolean(left.boolean()? | right.boolean()?)),
            Self::And => Ok(Operand::Boolean(left.boolean()? & right.boolean()?)),
            Self::Equal => Ok(Operand::Boolean(left.equals(right)?)),
            Self::NotEqual => Ok(Operand::Boolean(!left.equals(right)?)),
            Self::Less => ordered(Ordering::is_lt),
            Self::LessOrEqual => ordered(Ordering::is_le),
            Self::Greater => ordered(Ordering::is_gt),
            Self::GreaterOrEqual => ordered(Ordering::is_ge),
            Self::Add => numbers(|left, right| left + right),
            Self::Subtract => numbers(|left, right| left - right),
            Self::Multiply => numbers(|left, right| left * right),
            Self::Divide => numbers(|left, right| left / right),
            Self::Remainder => numbers(|left, right| left % right),
        }
    }
}

impl Operand {
    fn from_value(value: &Value) -> Self {
        match (value, value.to_number()) {
            (Value::Boolean(value), _) => Self::Boolean(*value),
            (_, Some(number)) => Self::Number(number),
            (value, None) => Self::Text(value.to_string()),
        }
    }

    fn boolean(&self) -> Result<bool, String> {
        match self {
            Self::Boolean(value) => Ok(*value),
            other => Err(format!("{} is no condition", other.display_text())),
        }
    }

    fn to_number(&self) -> Result<f64, String> {
        match self {
            Self::Number(value) => Ok(*value),
            other => Err(format!("{} is no number", other.display_text())),
        }
    }

    fn equals(&self, other: &Self) -> Result<bool, String> {
        match (self, other) {
            (Self::Boolean(left), Self::Boolean(right)) => Ok(left == right),
            (Self::Number(left), Self::Number(right)) => Ok(left == right),
            (Self::Text(left), Self::Text(right)) => Ok(left == right),
            (left, right) => Err(format!(
                "{} and {} are of different kinds",
                left.display_text(),
                right.display_text()
            )),
        }
    }

    fn display_text(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(value) => format!("'{value}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment() -> Assignment {
        Assignment::new(vec![
            ("ranks".to_owned(), Value::Whole(512)),
            ("size".to_owned(), Value::Text("64KiB".to_owned())),
            ("algorithm".to_owned(), Value::Text("ring".to_owned())),
            ("fast".to_owned(), Value::Boolean(true)),
        ])
    }

    fn holds(text: &str) -> Result<bool, String> {
        Expression::new(text)?.holds(&assignment())
    }

    #[test]
    fn precedence_and_kinds() {
        for (text, expected) in [
            ("ranks <= 512 or size < 65536", true),
            ("size == 64KiB", true),
            ("ranks < 512 or size < 65536", false),
            ("not fast or true", true),
            ("not (fast or true)", false),
            ("true or true and false", true),
            ("(true or true) and false", false),
            ("1 + 2 * 3 == 7 and -2 - 3 == -5", true),
            ("10 - 4 - 3 == 3", true),
            ("ranks % 2 == 0 and ranks / 4 == 128", true),
            ("algorithm == 'ring' and algorithm != 'tree'", true),
            ("algorithm != ''", true),
            ("1 / 0 > 1e300", true),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
        let expression = Expression::new("ranks < 2 or not fast").expect("a condition");
        assert_eq!(expression.parameter_names(), ["ranks", "fast"]);
    }

    #[test]
    fn mistakes_name_their_column() {
        let problem = |text: &str| holds(text).expect_err("a mistake");
        assert_eq!(problem("ranks <"), "an operand is missing at column 8");
        assert_eq!(
            problem("(ranks < 2"),
            "a closing parenthesis is missing at column 11"
        );
        assert_eq!(problem("ranks = 2"), "unknown operator '=' at column 7");
        assert_eq!(problem("ranks ranks"), "unexpected 'ranks' at column 7");
        assert_eq!(problem("1 < 2 < 3"), "unexpected '<' at column 7");
        assert_eq!(problem("size < 3kb"), "unknown quantity '3kb' at column 8");
        assert_eq!(
            problem("algorithm == 'ring"),
            "a text is not closed at column 14"
        );
        assert_eq!(problem("ranks"), "512 is no condition");
        assert_eq!(problem("algorithm < 3"), "'ring' is no number");
        assert_eq!(
            problem("algorithm == 3"),
            "'ring' and 3 are of different kinds"
        );
        let deep = "(".repeat(100_000);
        assert_eq!(
            problem(&deep),
            "more than 64 operators within another at column 66"
        );
    }
}
