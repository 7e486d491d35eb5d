//! Whether a URI could have come from a template. Routing only: the upstream reads the URI itself.

/// How many characters of the template are literal, if the URI fits it.
///
/// Expressions take any text, simple ones no `/`; each literal is found at its first place.
pub(crate) fn fits(template: &str, uri: &str) -> Option<usize> {
    let mut rest = uri;
    let mut literal = 0;
    let mut pieces = template.split('{');
    let first = pieces.next()?;
    rest = rest.strip_prefix(first)?;
    literal += first.chars().count();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let (expression, text) = piece.split_once('}')?;
        let at = match (text.is_empty(), pieces.peek().is_some()) {
            (true, false) => rest.len(),
            (true, true) => 0,
            (false, true) => rest.find(text)?,
            // The last literal ends the URI.
            (false, false) => rest.strip_suffix(text)?.len(),
        };
        let (taken, behind) = rest.split_at_checked(at)?;
        let spans = expression.starts_with(['+', '#', '/', '.', ';', '?', '&']);
        if !spans && taken.contains('/') {
            return None;
        }
        literal += text.chars().count();
        rest = behind.strip_prefix(text)?;
    }
    rest.is_empty().then_some(literal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literals_must_be_where_the_template_has_them() {
        let check = |template: &str, uri: &str, wanted: Option<usize>| {
            assert_eq!(fits(template, uri), wanted, "{template} {uri}");
        };
        check("a:b", "a:b", Some(3));
        check("a:b", "a:bc", None);
        check("t://{id}", "t://7", Some(4));
        check("t://{id}", "t://7/8", None);
        check("t://{+path}", "t://7/8", Some(4));
        check("t://{id}/data", "t://7/data", Some(9));
        check("t://{id}/data", "t://7/other", None);
        check("t://{a}/{b}", "t://1/2", Some(5));
        check("t://{a}{?q}", "t://1?q=2", Some(4));
        check("t://{broken", "t://x", None);
    }

    proptest! {
        #[test]
        fn what_fills_a_template_fits_it(a in "[a-z0-9]{1,8}", b in "[a-z0-9]{1,8}") {
            let uri = format!("s://{a}/x/{b}");
            let fitted = fits("s://{a}/x/{b}", &uri);
            prop_assert!(fitted.is_some());
        }

        #[test]
        fn no_text_makes_it_panic(template in "\\PC{0,30}", uri in "\\PC{0,30}") {
            let literal = fits(&template, &uri).unwrap_or_default();
            prop_assert!(literal <= template.chars().count());
        }
    }
}
