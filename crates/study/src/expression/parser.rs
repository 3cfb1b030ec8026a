//! Grammar of conditions, by recursive descent.

use super::lexer::{PositionedToken, Token};
use super::{ExpressionNode, Operator};

/// Largest depth of nesting: the stack is finite.
const DEPTH_MAX: usize = 64;

/// Binary operators by precedence level, lowest first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        (">=", Operator::GreaterOrEqual),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

/// The level of comparisons, which do not chain, and above which `not` stands.
const COMPARISON: usize = 2;

struct Parser<'t> {
    /// The last one is the end of the text.
    tokens: &'t [PositionedToken],
    at: usize,
    depth: usize,
}

/// Reads a whole condition.
pub(super) fn parse_condition(tokens: &[PositionedToken]) -> Result<ExpressionNode, String> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let node = parser.level(0)?;
    let place = parser.current_token();
    if place.token == Token::End {
        Ok(node)
    } else {
        Err(format!(
            "unexpected '{}' at column {}",
            place.text, place.column
        ))
    }
}

impl Parser<'_> {
    fn current_token(&self) -> &PositionedToken {
        &self.tokens[self.at]
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.current_token().token, Token::Symbol(it) if it == symbol);
        self.at += usize::from(found);
        found
    }

    /// Reads operands and the operators of a level between them.
    fn level(&mut self, level: usize) -> Result<ExpressionNode, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.operand();
        };
        if level == COMPARISON && self.take_symbol("not") {
            let inner = self.nested(|parser| parser.level(COMPARISON))?;
            return Ok(ExpressionNode::Not(Box::new(inner)));
        }
        let mut left = self.level(level + 1)?;
        let mut chain = 0;
        while let Some((_, operator)) = operators
            .iter()
            .find(|(symbol, _)| self.take_symbol(symbol))
        {
            let right = self.level(level + 1)?;
            left = ExpressionNode::Binary(*operator, Box::new(left), Box::new(right));
            chain += 1;
            // The tree is as deep as the chain is long.
            if chain > DEPTH_MAX {
                return Err(self.too_deep());
            }
            if level == COMPARISON {
                break;
            }
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<ExpressionNode, String> {
        if self.take_symbol("-") {
            let inner = self.nested(Self::operand)?;
            return Ok(ExpressionNode::Negative(Box::new(inner)));
        }
        if self.take_symbol("(") {
            let inner = self.nested(|parser| parser.level(0))?;
            if self.take_symbol(")") {
                return Ok(inner);
            }
            let column = self.current_token().column;
            return Err(format!(
                "a closing parenthesis is missing at column {column}"
            ));
        }
        let place = self.current_token();
        let node = match &place.token {
            Token::Operand(value) => ExpressionNode::Constant(value.clone()),
            Token::Name(name) => ExpressionNode::Name(name.clone()),
            Token::Symbol(_) | Token::End => {
                return Err(format!("an operand is missing at column {}", place.column));
            }
        };
        self.at += 1;
        Ok(node)
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<ExpressionNode, String>,
    ) -> Result<ExpressionNode, String> {
        if self.depth == DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    fn too_deep(&self) -> String {
        let column = self.current_token().column;
        format!("more than {DEPTH_MAX} operators within another at column {column}")
    }
}
