"""De-duplication of Chinese news, in pure Python: usable from a notebook without Django.

>>> from articles.dedup import clean_news, dedupe, hamming_distance, simhash
"""

from articles.dedup.clean import clean_body, clean_news, clean_title
from articles.dedup.fingerprint import hamming_distance, simhash
from articles.dedup.index import dedupe

__all__ = ["clean_body", "clean_news", "clean_title", "dedupe", "hamming_distance", "simhash"]
