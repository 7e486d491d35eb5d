//! The only maker of a Cleared answer.
