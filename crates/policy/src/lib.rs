//! The only maker of a Permit.
