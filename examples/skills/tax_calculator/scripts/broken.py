"""Fail on purpose: division by zero."""

if __name__ == "__main__":
    1 / 0
