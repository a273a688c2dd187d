"""difflib's ratio of two texts: the share of characters that both have in the same order, in blocks.

Ratcliff and Metzener, "Pattern Matching: The Gestalt Approach", Dr. Dobb's Journal, July 1988. cydifflib
gives difflib's own values and takes a third of its time; rapidfuzz's ratio is another measure.
"""

from cydifflib import SequenceMatcher

# Characters of a text that are compared: the work grows with the square of the length, or faster.
LENGTH = 2_000
LONGEST = 5_000


def canonical(one: str, other: str) -> tuple[str, str]:
    """Two texts in the order in which they are compared: difflib's ratio depends on it."""
    return (one, other) if (len(one), one) <= (len(other), other) else (other, one)


def matcher(second: str = "") -> SequenceMatcher:
    """One that compares first texts with this second one; what it knows of the second is kept.

    Without difflib's `autojunk`, which takes each character that is one in a hundred of a text for noise:
    of a text in which all are, nothing would be like itself.
    """
    return SequenceMatcher(None, "", second, autojunk=False)


def ratio(one: str, other: str, length: int = LENGTH) -> float:
    """0..1, of the first `length` characters of each; the same whichever text comes first.

    >>> ratio("油价年内第七次上调", "油价迎来年内第七次上调")
    0.9
    >>> ratio("abcd", "bcde") == ratio("bcde", "abcd") == 0.75
    True
    """
    first, second = canonical(one[:length], other[:length])
    if first == second:
        return 1.0
    found = matcher(second)
    found.set_seq1(first)
    return float(found.ratio())
