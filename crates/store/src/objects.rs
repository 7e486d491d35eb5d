//! Where the bytes of artifacts lie: a folder beside the database, or a bucket that speaks S3.
//!
//! Every name here is a hash; no string of a client becomes a path.

mod s3;

use std::path::{Path as FilePath, PathBuf};

use bytes::Bytes;
use model::{Fault, Secret};
use object_store::local::LocalFileSystem;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, path::Path};

use crate::folder;
use crate::store::OpenError;

/// Where bytes are to be kept.
#[derive(Clone, Debug, Default)]
pub enum Place {
    /// In the data folder.
    #[default]
    Folder,
    Bucket(Bucket),
}

/// A bucket that speaks S3. What is absent comes from the variables AWS tools read.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// `s3://bucket` or `s3://bucket/prefix`.
    pub url: String,
    /// Another service than Amazon's; plain HTTP only where this says `http://`.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<Secret>,
    pub secret_access_key: Option<Secret>,
}

#[derive(Debug)]
pub(crate) enum Objects {
    Folder(LocalFileSystem),
    Bucket(Box<dyn ObjectStore>),
}

impl Objects {
    pub(crate) fn open(place: &Place, folder: &FilePath) -> Result<Self, OpenError> {
        match place {
            Place::Folder => open_folder(folder).map(Self::Folder),
            Place::Bucket(bucket) => s3::open(bucket).map(Self::Bucket),
        }
    }

    /// Durable when it returns. Written even if it is there: the same bytes, and a damaged copy
    /// heals.
    pub(crate) async fn put(&self, hash: &str, bytes: Bytes) -> Result<(), Fault> {
        let place = object(hash)?;
        let unwritten =
            |error: object_store::Error| Fault::internal(format!("artifact {hash}: {error}"));
        self.any().put(&place, PutPayload::from_bytes(bytes)).await.map_err(unwritten)?;
        match self {
            Self::Bucket(_) => Ok(()),
            Self::Folder(files) => {
                close_to_others(files.path_to_filesystem(&place).map_err(unwritten)?).await
            }
        }
    }

    pub(crate) async fn get(&self, hash: &str) -> Result<Bytes, Fault> {
        let lost =
            |error: object_store::Error| Fault::internal(format!("artifact {hash}: {error}"));
        self.any().get(&object(hash)?).await.map_err(lost)?.bytes().await.map_err(lost)
    }

    /// What is gone already is gone.
    pub(crate) async fn delete(&self, hash: &str) -> Result<(), Fault> {
        match self.any().delete(&object(hash)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Fault::internal(format!("artifact {hash}: {error}"))),
        }
    }

    fn any(&self) -> &dyn ObjectStore {
        match self {
            Self::Folder(files) => files,
            Self::Bucket(bucket) => bucket.as_ref(),
        }
    }
}

fn open_folder(path: &FilePath) -> Result<LocalFileSystem, OpenError> {
    folder::private_dir(path)?;
    LocalFileSystem::new_with_prefix(path)
        .map(|objects| objects.with_fsync(true))
        .map_err(|error| OpenError::Unusable { path: path.to_owned(), cause: error.to_string() })
}

/// Two digits of the hash make the folder, so that no folder grows without bound.
fn object(hash: &str) -> Result<Path, Fault> {
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hash.get(..2) {
        Some(folder) if is_hash => Ok(Path::from_iter([folder, hash])),
        _ => Err(Fault::internal(format!("artifact id `{hash}` is no hash"))),
    }
}

/// The object store makes files and folders that others could read, were the folder above them open.
async fn close_to_others(file: PathBuf) -> Result<(), Fault> {
    let tighten = move || {
        file.parent().map_or(Ok(()), |folder| folder::tighten(folder, 0o700))?;
        folder::tighten(&file, 0o600)
    };
    tokio::task::spawn_blocking(tighten)
        .await
        .map_err(|error| Fault::internal(format!("closing an artifact broke off: {error}")))?
        .map_err(|error| Fault::internal(error.to_string()))
}
