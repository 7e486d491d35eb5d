//! Handles tokens and keys.
