//! A defect of ours says so in one line. With `RUST_BACKTRACE` set, it says the rest as well.

use std::panic;

use super::print;

pub(super) fn install() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            default(info);
            return;
        }
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = format!("defect in toolgate at {place}: {}", text.unwrap_or("no message"));
        print::stderr(&print::labelled("error", &print::plain(&message)));
        let hint = "set RUST_BACKTRACE=1 to see where it came from, and please report it";
        print::stderr(&print::labelled("hint", hint));
    }));
}
