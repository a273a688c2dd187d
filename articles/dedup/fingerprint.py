"""Cleaned text -> Fingerprint: MD5s, SimHash with its bands, and a bottom-k sketch of shingles."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from articles.dedup import tokens
from articles.dedup.clean import skeleton
from articles.dedup.furniture import EMPTY, Furniture

Hashes = NDArray[np.uint64]

BITS = 64
BANDS = 4
BAND_BITS = 16
BAND_MASK = (1 << BAND_BITS) - 1
LEAD_LENGTH = 200
SHINGLE = 8
SKETCH_SIZE = 16
SKETCH_THRESHOLD = np.uint64((1 << 64) // 48)
LONGEST_SKETCH = 256
# A title alone is short: shorter shingles, hashed apart from those of bodies.
TITLE_SHINGLE = 4
# Fewer weighted words than this say too little to be compared by a SimHash.
MIN_WORDS = 3
FORMAT = "3"


@cache
def version() -> str:
    """Changes with anything that changes a fingerprint; stored beside it. At most 32 characters."""
    digest = hashlib.md5(tokens.engine_version().encode(), usedforsecurity=False).hexdigest()[:8]
    return f"{FORMAT}-{digest}"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What finds an article's twins.

    Attributes:
        title_md5, content_md5: of the skeletons, 32 hex digits; '' for an empty text.
        simhash: 0 .. 2**64 - 1, or None where there is too little text.
        sketch: up to 256 hashes in 0 .. 2**64 - 1, ascending, see `sketch`.
    """

    title_md5: str
    content_md5: str
    simhash: int | None
    sketch: tuple[int, ...]
    version: str

    @property
    def bands(self) -> tuple[int, ...] | None:
        return None if self.simhash is None else split_bands(self.simhash)


def fingerprint(title: str, body: str, furniture: Furniture = EMPTY) -> Fingerprint:
    """The fingerprint of a cleaned article, without its furniture."""
    body = furniture.strip(body)
    bare_title, bare_body = skeleton(title), skeleton(body)
    return Fingerprint(
        title_md5=md5(bare_title),
        content_md5=md5(bare_body),
        simhash=simhash_of_words(tokens.weighted_words(f"{title}\n{body[:LEAD_LENGTH]}")),
        sketch=sketch(bare_title, bare_body),
        version=version(),
    )


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() if text else ""


# --- SimHash ----------------------------------------------------------------------------------------------


def simhash(text: str, bits: int = BITS) -> int | None:
    """SimHash of a text's content words weighted by idf (Charikar, STOC 2002; Manku et al., WWW 2007).

    Returns:
        An integer of `bits` bits (8 to 64), or None where fewer than three words are left.

    >>> a = simhash("央行宣布下调存款准备金率0.5个百分点")
    >>> b = simhash("央行宣布：下调存款准备金率0.5个百分点！")
    >>> hamming_distance(a, b)
    0
    >>> simhash("图") is None
    True
    """
    if not 8 <= bits <= BITS:
        raise ValueError(f"bits must be 8 to {BITS}, not {bits}")
    value = simhash_of_words(tokens.weighted_words(text))
    return None if value is None else value >> (BITS - bits)


def simhash_of_words(weights: Mapping[str, int]) -> int | None:
    if len(weights) < MIN_WORDS:
        return None
    hashes = np.fromiter(map(_WORD_HASHES.__getitem__, weights), np.uint64, len(weights))
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    counts = np.fromiter(weights.values(), np.int64, len(weights))
    votes = counts @ bits
    return int.from_bytes(np.packbits(votes * 2 > counts.sum()).tobytes(), "big")


def _word_hash(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


_WORD_HASHES = tokens.Memo(_word_hash)


def hamming_distance(a: int, b: int) -> int:
    """The number of bits in which two SimHashes differ.

    >>> hamming_distance(0b1011, 0b0010)
    2
    """
    return (a ^ b).bit_count()


def split_bands(value: int) -> tuple[int, ...]:
    """The four 16-bit bands of a SimHash, lowest first."""
    return tuple(value >> (BAND_BITS * i) & BAND_MASK for i in range(BANDS))


def band_probes(band: int) -> list[int]:
    """The 17 keys under which a band is looked up: itself and its one-bit neighbours.

    Two values at distance <= 7 have a band in which they differ by at most one bit (7 < 4 x 2), so probing
    each band so finds all of them; four exact bands alone would only promise distance 3.
    """
    return [band, *(band ^ (1 << bit) for bit in range(BAND_BITS))]


# --- Shingles ---------------------------------------------------------------------------------------------


def sketch(bare_title: str, bare_body: str) -> tuple[int, ...]:
    """Sketch of a body's 8-character shingles: their 16 smallest hashes (bottom-k; Broder, 1997).

    Of a long text all below a threshold, one in 48 (FracMinHash; Irber et al., 2022), so that a short text
    that stands in it finds it too: the 16 smallest of 5,000 characters seldom fall into 80 of them.

    A text without a body is sketched by its title.
    """
    if len(bare_body) >= SHINGLE:
        hashes = shingle_hashes(bare_body, SHINGLE)
    else:
        hashes = shingle_hashes(bare_title + bare_body, TITLE_SHINGLE)
    small = unique(hashes[hashes < SKETCH_THRESHOLD])
    if len(small) >= SKETCH_SIZE:
        return tuple(small[:LONGEST_SKETCH].tolist())
    return tuple(unique(hashes)[:SKETCH_SIZE].tolist())


def unique(hashes: Hashes) -> Hashes:
    """The different hashes, ascending: np.unique without its checks, which take longer than the sorting."""
    ordered = np.sort(hashes)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def shingle_hashes(text: str, size: int) -> Hashes:
    """Hashes of all `size`-character shingles of a text, in order, with repeats; empty if it is shorter."""
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)
    if len(codes) < size:
        return np.empty(0, np.uint64)
    return _mix(_polynomial(codes, size))


def _polynomial(codes: Hashes, size: int) -> Hashes:
    """Each window's codes as digits of a number to the base MULTIPLIER, modulo 2**64, by doubling."""
    if size == 1:
        return codes
    half = size // 2
    hashes = _polynomial(codes, half)
    hashes = hashes[:-half] * POWERS[half] + hashes[half:]
    return hashes[:-1] * MULTIPLIER + codes[size - 1 :] if size % 2 else hashes


MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
POWERS = {n: np.uint64(pow(0x9E3779B97F4A7C15, n, 1 << 64)) for n in (1, 2, 4)}
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(hashes: Hashes) -> Hashes:
    """The finalizer of SplitMix64 (Steele et al., OOPSLA 2014): spreads a weak hash over all bits."""
    hashes ^= hashes >> SHIFT_1
    hashes *= MIX_1
    hashes ^= hashes >> SHIFT_2
    hashes *= MIX_2
    hashes ^= hashes >> SHIFT_3
    return hashes


def unsigned_to_signed(values: Iterable[int]) -> list[int]:
    """Hashes as a signed BIGINT column holds them."""
    return [value - (1 << 64) if value >= 1 << 63 else value for value in values]
