"""Numbers in Chinese text, by value: 5000万 is 0.5亿 is 五千万, 零点五 is 0.5."""

import re
from decimal import Decimal

DIGITS = {**{c: i for i, c in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
SMALL = {"十": 10, "百": 100, "千": 1000}
LARGE = {"万": 10**4, "亿": 10**8, "兆": 10**12}
ARABIC = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
HAN_DIGITS = "零〇一二三四五六七八九两"
HAN_SIGNS = f"{HAN_DIGITS}十百千万亿"
HAN_NUMBER = rf"[{HAN_SIGNS}]+(?:点[{HAN_DIGITS}]+)?"
NUMBER = re.compile(rf"(?:(?<![\w.])-)?(?:{ARABIC})(?:\s?[十百千万亿兆]+)?|{HAN_NUMBER}")
LEADING_ARABIC = re.compile(rf"-?(?:{ARABIC})")
# No number of any story is longer; a row of a thousand 亿 would overflow.
LONGEST = 60


def value(text: str) -> Decimal | None:
    """The value of a matched number, or None where it is none (a lone 千 or 万).

    >>> value("5000万") == value("0.5亿") == value("五千万")
    True
    >>> value("零点五") == value("0.50")
    True
    >>> value("万") is None
    True
    """
    text = text.replace(" ", "").replace(",", "")[:LONGEST]
    arabic = LEADING_ARABIC.match(text)
    if arabic:
        number = Decimal(arabic[0])
        for unit in text[arabic.end() :]:
            number *= SMALL.get(unit) or LARGE[unit]
        return number
    whole, point, fraction = text.partition("点")
    integer = _whole(whole)
    if integer is None or not point:
        return integer
    return integer + Decimal("0." + "".join(str(DIGITS[digit]) for digit in fraction))


def _whole(text: str) -> Decimal | None:
    if all(char in DIGITS for char in text):
        # 二〇二六: read digit by digit.
        return Decimal("".join(str(DIGITS[char]) for char in text)) if text else None
    if not any(char in DIGITS or char == "十" for char in text):
        return None
    total = section = digit = 0
    last_unit = 1
    for char in text:
        if char in DIGITS:
            digit = DIGITS[char]
            last_unit = 1 if char in "零〇" else last_unit
        elif char in SMALL:
            section += (digit or (1 if char == "十" else 0)) * SMALL[char]
            last_unit, digit = SMALL[char], 0
        else:
            total = (total + section + digit) * LARGE[char]
            last_unit, section, digit = LARGE[char], 0, 0
    # 三万五 is 35,000: a digit right after a unit counts in the next smaller one.
    tail = digit * (last_unit // 10) if last_unit >= 100 else digit
    return Decimal(total + section + tail)
