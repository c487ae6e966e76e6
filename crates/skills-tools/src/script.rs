//! Scripts of skills as tools: what they are called, what they take, and how arguments reach them.
