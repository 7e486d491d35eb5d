//! Reads adapter manifests.
