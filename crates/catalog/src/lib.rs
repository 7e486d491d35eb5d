//! Decides which tools exist, what they are called and how they are shown.
