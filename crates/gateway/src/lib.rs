//! Lets the stages of a call meet.
