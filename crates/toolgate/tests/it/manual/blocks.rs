//! Takes the fenced blocks out of a page, and the commands out of a `console` block.

/// One fenced block.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    pub(super) lang: String,
    /// The file the page calls it.
    pub(super) title: Option<String>,
    /// Why it must not be run.
    pub(super) ignore: Option<String>,
    pub(super) text: String,
    /// Of its opening fence, from one.
    pub(super) line: usize,
}

/// One command and what it prints.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

pub(super) fn read(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        let fence = line.strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => open = Some(begin(info, index + 1)),
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is never closed: {open:?}");
    blocks
}

/// ```` ```lang title=NAME ignore=REASON ```` ; the reason goes on to the end of the line.
fn begin(info: &str, line: usize) -> Block {
    let (info, ignore) = match info.split_once("ignore=") {
        Some((info, reason)) => (info, Some(reason.trim().to_owned())),
        None => (info, None),
    };
    let mut words = info.split_whitespace();
    let lang = words.next().unwrap_or_default().to_owned();
    assert!(!lang.is_empty(), "line {line}: a block says its language; `text` is one");
    let title = words.find_map(|word| word.strip_prefix("title=")).map(str::to_owned);
    Block { lang, title, ignore, text: String::new(), line }
}

impl Block {
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), line.strip_prefix("> "), steps.last_mut()) {
                (Some(command), _, _) => {
                    steps.push(Step { command: command.to_owned(), output: Vec::new() });
                }
                (None, Some(more), Some(step)) if step.output.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                (None, _, Some(step)) => step.output.push(line.to_owned()),
                (None, _, None) => panic!("line {}: output before any command", self.line),
            }
        }
        steps
    }
}

#[test]
fn a_page_comes_apart_into_blocks_and_steps() {
    let page = "text\n```console\n$ a \\\n> b\nout\n$ c\n```\nmore\n```yaml title=x.yaml\nk: v\n```\n\
                ```sh ignore=needs a network\nx\n```\n";
    let blocks = read(page);
    let step = |command: &str, output: &[&str]| Step {
        command: command.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(blocks[0].steps(), [step("a \\\nb", &["out"]), step("c", &[])]);
    assert_eq!((blocks[1].title.as_deref(), blocks[1].text.as_str()), (Some("x.yaml"), "k: v\n"));
    assert_eq!(blocks[2].ignore.as_deref(), Some("needs a network"));
    assert_eq!(blocks[2].line, 12);
}
