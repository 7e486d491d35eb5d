//! How issuers build their tokens: a fixed part, and a run of characters from one alphabet.
//!
//! Lengths are lower bounds, a little below what is issued today; the whole run is redacted.

use super::assign::Name;
use super::phrase::Phrase;

/// What a fixed text announces.
#[derive(Clone, Debug)]
pub(super) enum Anchor {
    Shape(&'static Shape),
    Name(Name),
    Phrase(Phrase),
    /// A secret of this gate, all of it.
    Known,
}

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) literal: &'static str,
    pub(super) alphabet: Alphabet,
    /// Characters that must follow the literal.
    pub(super) least: usize,
    pub(super) before: Side,
    pub(super) exact_case: bool,
    /// What follows must look drawn at random, because the literal alone says little.
    pub(super) random: bool,
}

/// What stands before the literal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// No letter, digit or underscore.
    Boundary,
    Any,
    /// At least so many characters that belong to the token.
    Run(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    Alnum,
    /// With `_` and `-`.
    Word,
    /// With `_`, `-`, `.` and `=`.
    Dotted,
    /// With `+`, `/`, `=`, `_` and `-`.
    Base64,
    /// What may stand on the right of an assignment.
    Value,
    /// What the name on its left may go on with.
    Name,
    /// Almost anything; the end is where a text would go on.
    Password,
}

const ALPHABETS: [Alphabet; 7] =
    [Alnum, Word, Dotted, Base64, Value, Alphabet::Name, Alphabet::Password];

impl Alphabet {
    pub(super) const COUNT: usize = ALPHABETS.len();

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a byte is always within 256 places")]
    pub(super) const fn has(self, byte: u8) -> bool {
        MEMBERS[byte as usize] >> self as u8 & 1 != 0
    }

    const fn spells(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Self::Name => matches!(byte, b'_' | b'-' | b'.' | b' ' | b'\t'),
                Self::Password => {
                    byte.is_ascii_graphic()
                        && !matches!(
                            byte,
                            b'"' | b'\''
                                | b'`'
                                | b','
                                | b';'
                                | b'<'
                                | b'>'
                                | b'&'
                                | b')'
                                | b'['
                                | b'\\'
                        )
                }
                Self::Alnum => false,
                Self::Word => matches!(byte, b'_' | b'-'),
                Self::Dotted => matches!(byte, b'_' | b'-' | b'.' | b'='),
                Self::Base64 => matches!(byte, b'_' | b'-' | b'+' | b'/' | b'='),
                Self::Value => {
                    matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b':' | b'%')
                }
            }
    }
}

/// One bit for each alphabet a byte belongs to.
static MEMBERS: [u8; 256] = members();

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, which checks it; a byte is below 256"
)]
const fn members() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut alphabet = 0;
        while alphabet < ALPHABETS.len() {
            table[byte] |=
                (ALPHABETS[alphabet].spells(byte as u8) as u8) << ALPHABETS[alphabet] as u8;
            alphabet += 1;
        }
        byte += 1;
    }
    table
}

impl Shape {
    const fn anywhere(self) -> Self {
        Self { before: Side::Any, ..self }
    }

    const fn exact(self) -> Self {
        Self { exact_case: true, ..self }
    }

    const fn random(self) -> Self {
        Self { random: true, ..self }
    }

    const fn after(self, run: usize) -> Self {
        Self { before: Side::Run(run), ..self }
    }
}

const fn token(literal: &'static str, alphabet: Alphabet, least: usize) -> Shape {
    let (exact_case, random) = (false, false);
    Shape { literal, alphabet, least, before: Side::Boundary, exact_case, random }
}

use Alphabet::{Alnum, Base64, Dotted, Value, Word};

#[rustfmt::skip]
pub(super) static SHAPES: &[Shape] = &[
    // Code hosts and package registries.
    token("ghp_", Alnum, 30).anywhere(), token("gho_", Alnum, 30).anywhere(),
    token("ghu_", Alnum, 30).anywhere(), token("ghs_", Alnum, 30).anywhere(),
    token("ghr_", Alnum, 30).anywhere(), token("github_pat_", Word, 40).anywhere(),
    token("glpat-", Dotted, 20).anywhere(), token("gldt-", Word, 20).anywhere(),
    token("glft-", Word, 20).anywhere(), token("glrt-", Dotted, 20).anywhere(),
    token("glptt-", Word, 30).anywhere(), token("glcbt-", Word, 20).anywhere(),
    token("glffct-", Word, 20).anywhere(), token("glimt-", Word, 20).anywhere(),
    token("glagent-", Word, 40).anywhere(), token("gloas-", Word, 50).anywhere(),
    token("glsoat-", Word, 20).anywhere(), token("GR1348941", Word, 20).anywhere(),
    token("_gitlab_session=", Alnum, 24).anywhere(),
    token("npm_", Alnum, 36), token("pypi-AgE", Word, 50).anywhere(),
    token("rubygems_", Alnum, 40), token("clojars_", Alnum, 50).anywhere(),
    token("sgp_", Word, 40), token("AKCp", Alnum, 60).exact(), token("cmVmd", Alnum, 50).exact(),
    // Clouds.
    token("AKIA", Alnum, 16).exact(), token("ASIA", Alnum, 16).exact(),
    token("ABIA", Alnum, 16).exact(), token("ACCA", Alnum, 16).exact(),
    token("A3T", Alnum, 17).exact(), token("ABSK", Base64, 90).exact(),
    token("bedrock-api-key-", Base64, 20).anywhere(), token("LTAI", Alnum, 20).exact(),
    token("AIza", Word, 33), token("ya29.", Word, 30), token("GOCSPX-", Word, 24),
    token("Q~", Value, 30).exact().after(4), token("dop_v1_", Alnum, 50), token("doo_v1_", Alnum, 50),
    token("dor_v1_", Alnum, 50), token("v1.0-", Word, 150), token("HRKU-", Word, 50),
    token("fo1_", Word, 40), token("fm1r_", Base64, 80), token("fm1a_", Base64, 80),
    token("fm2_", Base64, 80), token("dapi", Word, 32).random(), token("tk-us-", Word, 40),
    token("AQVN", Word, 35).exact(), token("t1.", Dotted, 86).random(), token("YCAJE", Word, 30).exact(),
    token(".atlasv1.", Dotted, 50).after(10), token("hvs.", Word, 24), token("hvb.", Word, 80),
    token("s.", Alnum, 24).exact().random(), token("pul-", Alnum, 36), token("ico-", Alnum, 30),
    token("dp.pt.", Alnum, 40).anywhere(), token("dp.st.", Dotted, 40).anywhere(),
    token("sha256~", Word, 40), token("4b1d", Alnum, 36).random(),
    token("pscale_tkn_", Dotted, 30), token("pscale_oauth_", Dotted, 30), token("pscale_pw_", Dotted, 30),
    token("dt0c01.", Dotted, 80).anywhere(), token("_mmk", Word, 0).after(34), token("API-", Alnum, 26).exact().random(),
    // Models.
    token("sk-ant-", Word, 40), token("sk-proj-", Word, 40), token("sk-", Word, 32).random(),
    token("pplx-", Alnum, 40), token("hf_", Alnum, 30), token("api_org_", Alnum, 30),
    token("gsk_", Alnum, 40), token("xai-", Alnum, 60), token("r8_", Alnum, 36),
    // Talk and mail.
    token("xoxb-", Word, 20).anywhere(), token("xoxp-", Word, 20).anywhere(),
    token("xoxe-", Word, 20).anywhere(), token("xoxe.xox", Word, 40).anywhere(),
    token("xoxa-", Word, 8).anywhere(), token("xoxr-", Word, 8).anywhere(),
    token("xoxo-", Word, 8).anywhere(), token("xoxs-", Word, 8).anywhere(),
    token("xapp-", Word, 8).anywhere().random(), token("hooks.slack.com/services/", Base64, 30).anywhere(),
    token("hooks.slack.com/workflows/", Base64, 30).anywhere(), token("hooks.slack.com/triggers/", Base64, 30).anywhere(),
    token("SG.", Dotted, 60).exact(), token("xkeysib-", Word, 70), token("SK", Alnum, 32).exact().anywhere().random(),
    token("key-", Alnum, 32).random(), token("pubkey-", Alnum, 32).random(),
    // Money and trade.
    token("sk_live_", Alnum, 10), token("sk_test_", Alnum, 10), token("sk_prod_", Alnum, 10),
    token("rk_live_", Alnum, 10), token("rk_test_", Alnum, 10), token("rk_prod_", Alnum, 10),
    token("whsec_", Base64, 24), token("shpat_", Alnum, 30).anywhere(), token("shpca_", Alnum, 30).anywhere(),
    token("shppa_", Alnum, 30).anywhere(), token("shpss_", Alnum, 30).anywhere(),
    token("EAAA", Word, 22).exact().random(), token("sq0atp-", Word, 20), token("sq0csp-", Word, 20),
    token("EAAM", Alnum, 80).exact(), token("EAAC", Alnum, 80).exact(),
    token("FLWSECK", Word, 12).anywhere(), token("FLWPUBK", Word, 30).anywhere(),
    token("EZAK", Alnum, 50).exact(), token("EZTK", Alnum, 50).exact(),
    token("duffel_live_", Dotted, 40).anywhere(), token("duffel_test_", Dotted, 40).anywhere(),
    token("shippo_live_", Alnum, 36), token("shippo_test_", Alnum, 36),
    token("access-sandbox-", Word, 36), token("access-development-", Word, 36), token("access-production-", Word, 36),
    // Tools of teams.
    token("secret_", Alnum, 40).random(), token("ntn_", Alnum, 40), token("lin_api_", Alnum, 36).anywhere(),
    token("lin_oauth_", Alnum, 36), token("ATATT3", Dotted, 100).exact(), token("pat", Dotted, 70).random(),
    token("pat.", Dotted, 60).anywhere().random(), token("sat.", Dotted, 60).anywhere().random(),
    token("PMAK-", Word, 50), token("pnu_", Alnum, 36), token("rdme_", Alnum, 60),
    token("glc_", Base64, 32), token("glsa_", Word, 38), token("eyJrIjoi", Base64, 60),
    token("sntrys_", Base64, 60), token("sntryu_", Alnum, 60), token("NRAK-", Word, 27), token("NRII-", Word, 30),
    token("NRJS-", Word, 19), token("tfp_", Dotted, 50), token("fio-u-", Dotted, 60).anywhere(),
    token("dnkey-", Dotted, 70), token("ops_eyJ", Base64, 200).anywhere(), token("A3-", Word, 30).exact().random(),
    token("AGE-SECRET-KEY-1", Alnum, 50).anywhere(), token("p8e-", Alnum, 30), token("s-s4t2", Word, 60),
    token("sm_aat_", Alnum, 16), token("sm_pat_", Alnum, 16), token("sm_sat_", Alnum, 16),
    token("sc_", Value, 50).random(), token("ext_", Value, 50).random(),
    token("scauth_", Value, 50).random(), token("authress_", Value, 50).random(),
    token("squ_", Alnum, 40), token("sqp_", Alnum, 40), token("sqa_", Alnum, 40),
    token("ZXlK", Base64, 48).exact(), token("sbp_", Alnum, 40), token("tskey-", Word, 20),
    token("dckr_pat_", Word, 24), token("vercel_", Alnum, 24).random(), token("figd_", Word, 36),
];
