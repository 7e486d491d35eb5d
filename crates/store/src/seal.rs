//! The key that signs words about the chain. It lies in the data folder and nowhere else.

use std::io::{self, Write as _};
use std::path::Path;

use model::canonical;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::failpoint;
use crate::folder::{self, FolderError};

const SECRET: &str = "checkpoint.key";
const PUBLIC: &str = "checkpoint.pub";

/// Why there is no key to sign with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("`{SECRET}` in the data folder cannot be read or written: {0}")]
    Io(#[from] io::Error),
    #[error("`{SECRET}` in the data folder is no signing key; move it away to get a new one")]
    Damaged,
}

/// An ed25519 key pair.
#[derive(Debug)]
pub(crate) struct Seal {
    pair: Ed25519KeyPair,
    pub(crate) key_id: String,
}

impl Seal {
    /// The key of this folder; made on first use.
    pub(crate) fn of(dir: &Path) -> Result<Self, SealError> {
        let pkcs8 = match secret(dir)? {
            Some(pkcs8) => pkcs8,
            None => make(dir)?,
        };
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|_rejected| SealError::Damaged)?;
        let public = PublicKey { bytes: pair.public_key().as_ref().to_vec() };
        if PublicKey::of(dir).as_ref() != Some(&public) {
            replace(dir, PUBLIC, format!("{}\n", public.to_hex()).as_bytes())?;
        }
        Ok(Self { pair, key_id: public.key_id() })
    }

    pub(crate) fn sign(&self, words: &str) -> String {
        canonical::hex(self.pair.sign(words.as_bytes()).as_ref())
    }
}

/// The key that lies there. An empty file is what a crash has left of one.
fn secret(dir: &Path) -> Result<Option<Vec<u8>>, SealError> {
    match std::fs::read(dir.join(SECRET)) {
        Ok(bytes) => Ok(Some(bytes).filter(|bytes| !bytes.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Two gates may share a folder; the second must not write over what the first has made.
fn make(dir: &Path) -> Result<Vec<u8>, SealError> {
    let _alone = folder::setup_lock(dir)?;
    if let Some(made) = secret(dir)? {
        return Ok(made);
    }
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let pkcs8 = made.map_err(|_unspecified| SealError::Damaged)?.as_ref().to_vec();
    replace(dir, SECRET, &pkcs8)?;
    Ok(pkcs8)
}

/// Whole or not at all: half a key would sign nothing, and keep another from being made.
fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), SealError> {
    let new_name = format!("{name}.new");
    let mut file = folder::private_file(&dir.join(&new_name))?;
    file.set_len(0)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    failpoint::file("seal.made")?;
    Ok(folder::rename(dir, &new_name, name)?)
}

/// The half of the key that everybody may know. A copy kept elsewhere is worth the most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    bytes: Vec<u8>,
}

impl PublicKey {
    /// The key of this folder, if it has signed anything.
    pub fn of(dir: &Path) -> Option<Self> {
        Self::read(&std::fs::read_to_string(dir.join(PUBLIC)).ok()?)
    }

    /// Reads the hexadecimal digits of `checkpoint.pub`.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = unhex(text.trim())?;
        (bytes.len() == 32).then_some(Self { bytes })
    }

    pub fn to_hex(&self) -> String {
        canonical::hex(&self.bytes)
    }

    pub(crate) fn key_id(&self) -> String {
        canonical::hash_bytes(&self.bytes).chars().take(16).collect()
    }

    pub(crate) fn has_signed(&self, words: &str, signature: &str) -> bool {
        let Some(signature) = unhex(signature) else { return false };
        UnparsedPublicKey::new(&ED25519, &self.bytes).verify(words.as_bytes(), &signature).is_ok()
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_key_and_it_signs_one_text() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(PublicKey::of(home.path()), None);
        let (seal, again) = (Seal::of(home.path()).unwrap(), Seal::of(home.path()).unwrap());
        assert_eq!(seal.key_id, again.key_id);
        let public = PublicKey::of(home.path()).unwrap();
        assert_eq!(public.key_id(), seal.key_id);
        let signature = seal.sign("words");
        assert!(public.has_signed("words", &signature));
        assert!(!public.has_signed("other words", &signature));
        assert!(!public.has_signed("words", &signature.replace(['0', '1'], "2")));
        assert!(!public.has_signed("words", "no signature"));
    }

    /// A crash while a key was made leaves none, or all of it, and nothing in the way of the next.
    #[test]
    fn what_a_crash_left_of_a_key_is_made_anew() {
        let check = |name: &str, left: &str| {
            let home = tempfile::tempdir().unwrap();
            std::fs::write(home.path().join(name), left).unwrap();
            let seal = Seal::of(home.path()).unwrap();
            assert_eq!(PublicKey::of(home.path()).unwrap().key_id(), seal.key_id, "{name}");
            assert_eq!(Seal::of(home.path()).unwrap().key_id, seal.key_id, "{name}");
        };
        check(SECRET, "");
        check("checkpoint.key.new", "half a k");
        check("checkpoint.pub.new", "12");
        check(PUBLIC, "");
        check(PUBLIC, "0123");
    }

    #[test]
    fn a_file_that_is_no_key_is_refused() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(SECRET), "hunter2").unwrap();
        assert!(matches!(Seal::of(home.path()), Err(SealError::Damaged)));
        assert_eq!(PublicKey::read("abc"), None);
        assert_eq!(PublicKey::read("zz"), None);
    }
}
