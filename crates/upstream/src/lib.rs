//! Opens connections to tools, and only against a Permit.
