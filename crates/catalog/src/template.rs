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

/// Whether a URI is spelt as everybody spells it: no letter written by its number, no `.` or `..` in
/// its path, however separated, and its scheme in small letters (RFC 3986, 6.2.2).
pub(crate) fn is_plain(uri: &str) -> bool {
    let (scheme, rest) = uri.split_once(':').unwrap_or(("", uri));
    let (path, _) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
    let path = path.replace("%2f", "/").replace("%2F", "/");
    let path = path.replace("%5c", "/").replace("%5C", "/").replace('\\', "/");
    let climbs = path.split('/').any(|segment| segment == "." || segment == "..");
    let disguised = uri.split('%').skip(1).any(|after| {
        let byte = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    });
    !climbs && !disguised && !scheme.bytes().any(|byte| byte.is_ascii_uppercase())
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

    /// B11: another spelling is another name for rules, and the same thing for its server.
    #[test]
    fn only_one_spelling_is_plain() {
        let check = |uri: &str, wanted: bool| assert_eq!(is_plain(uri), wanted, "{uri}");
        check("note://secret", true);
        check("note://Ann/a%20b?q=%2F..", true);
        check("file:///a/b..c/...d", true);
        check("note://%E2%82%AC", true);
        check("NOTE://secret", false);
        check("note://%73ecret", false);
        check("note://secre%74", false);
        check("file:///open/../private", false);
        check("file:///open/%2e%2e/private", false);
        check("file:///open/..%2Fprivate", false);
        check("file:///open/..%5cprivate", false);
        check("file:///open\\..\\private", false);
        check("file:///open/./x", false);
        check("file:///open/..", false);
        check("file:///open/..?x", false);
        check("a:b", true);
        check("%", true);
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at(uri in ".*") {
            is_plain(&uri);
        }

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
