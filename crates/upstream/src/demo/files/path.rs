//! Which texts are paths of the drive: absolute, clean, and without a way up.

pub(super) fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name != "." && name != ".." && !name.contains(char::is_control)
    };
    path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever a caller writes, an accepted path cannot climb.
        #[test]
        fn an_accepted_path_has_no_way_up(path in "[/.a ]{0,12}") {
            let is_clean = path.split('/').skip(1).all(|name| !["", ".", ".."].contains(&name));
            prop_assert_eq!(is_path(&path), path.starts_with('/') && is_clean);
        }
    }

    #[test]
    fn only_absolute_clean_paths_are_accepted() {
        let check = |path: &str, expected: bool| assert_eq!(is_path(path), expected, "{path:?}");
        check("/a.md", true);
        check("/a/b c.md", true);
        check("/", false);
        check("a.md", false);
        check("/a/../b", false);
        check("/a//b", false);
        check("/a\n", false);
    }
}
