//! How well tools are found, and how fast: ours beside baselines written here, one set of
//! parameters for all sets.

mod figures;
mod sets;

use search::{Doc, Index};

use self::figures::{Figures, judge};
use crate::Outcome;

const SETS: [&str; 6] = ["contextweaver_gold", "mcpproxy_golden", "toolalpaca", "restbench", "rotbench", "metatool_multi"];

pub(crate) fn run(_arguments: &[String]) -> Outcome<()> {
    let shared = sets::shared().join("retrieval");
    let pool = sets::tools(&shared.join("pool-10k.jsonl"))?;
    for extra in [0, 1000, 10000] {
        let mut all = vec![];
        for name in SETS {
            let set = sets::read(&shared.join(name))?;
            let mut docs: Vec<Doc<'_>> = set.tools.iter().map(|t| t.doc()).collect();
            if extra > 0 { docs.extend(pool.iter().step_by(pool.len() / extra).take(extra).map(|t| t.doc())); }
            let index = Index::build(&docs);
            let f = judge(&set.queries, &mut |q| index.rank(q, 10, &|_| true).hits.iter().map(|h| h.doc).collect());
            println!("{:24} +{extra:5} {:.3} {:.3} {:.3} {:.3}", set.name, f.recall_1, f.recall_5, f.recall_10, f.mrr);
            all.push(f);
        }
        let f = Figures::mean(&all);
        println!("{:24} +{extra:5} {:.3} {:.3} {:.3} {:.3}", "avg", f.recall_1, f.recall_5, f.recall_10, f.mrr);
    }
    Ok(())
}
