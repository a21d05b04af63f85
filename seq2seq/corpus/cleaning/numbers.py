"""The numbers of two sentences, in digits of any script, and with words such as million or 万."""

import re
from collections import Counter

from seq2seq.characters import composed

# Powers of ten after a number. The beginnings of words are enough for those with spaces.
_POWERS = {
    1: "十|십",
    2: "百|백|ร้อย|ຮ້ອຍ|រយ|ရာ|hundred",
    3: r"千|천|พัน|ພັນ|ពាន់|ထောင်|हज़ार|हजार|হাজার|thousand|mil(?:le)?\b|тыс|ألف|آلاف|אלף|χιλι",
    4: "[万萬]|만|หมื่น|ໝື່ນ|ຫມື່ນ|ម៉ឺន|သောင်း",
    5: "แสน|ແສນ|សែន|သိန်း|लाख|লাখ|lakh",
    6: "ล้าน|ລ້ານ|លាន|သန်း|मिलियन|m[ií]l[lhj]?i[oóõ]|milj|millón|мил+и|мільй|млн|مليون|ملايين|מיליון|εκατομμ|triệu|juta",
    7: "करोड़|কোটি|crore",
    8: "[亿億]|억",
    9: "ຕື້|ប៊ីលាន|ဘီလီယံ|अरब|billion|milliard|milijard|mil[lj]ard|миллиард|мільярд|млрд|مليار|מיליארד|δισεκ|tỷ",
    12: "兆|조|trillion|трлн|триллион",
}
_POWER = re.compile("|".join(f"(?P<e{power}>{words})" for power, words in _POWERS.items()))
# Of 1 to 3 digits, then groups of three after the marks that languages put between thousands; of two in India. Then
# decimals, and powers of ten, or a month, which other languages have a name for.
_NUMBER = re.compile(
    r"((?<!\d)(?:\d{1,3}(?:[ .,'٬\u2019\u00a0\u202f]\d{3})+|\d{1,2}(?:,\d\d){1,5},\d{3}|[０-９]{1,3}(?:，[０-９]{3})+)"
    r"(?!\d)|\d+)"
    rf"(?:[.,٫．](\d+))?(?:[ \u00a0]?(?:((?:{'|'.join(_POWERS.values())}){{1,3}})|([月월])))?"
)
_DIGIT, _NOT_A_DIGIT = re.compile(r"\d"), re.compile(r"\D")
_LONGEST = 20  # digits; the others of a longer number do not count
_IN_WORDS_BELOW = 100  # smaller numbers are often written in words in one of the languages
_YEARS = range(1000, 2100)
# What the same time is in another count: 3 p.m. is 15 h, and 2019 is 2562 for Buddhists.
_SHIFTS = {12: range(25), 543: range(1400, 2700)}


def difference(src: str, tgt: str) -> float:
    """(d + 1) / (a + 1), where d numbers differ and a numbers agree; 0 without numbers.

    A small or round number or a year that only one side has may be written in words, or as a Roman number, in the other
    one. So it counts neither way. Words such as million are read if more numbers agree then: 12万 is 120,000.
    """
    readings = zip(_readings(src), _readings(tgt), strict=True)
    return min(_difference(*reading) for reading in readings)


def _readings(text: str) -> tuple[Counter[int], Counter[int]]:
    """The numbers as they are in digits, and with the powers and without the months."""
    digits, values = Counter[int](), Counter[int]()
    if not _DIGIT.search(text):
        return digits, values
    last, last_power, end = 0, 0, 0  # the number before: 2億5千万 is one number
    for match in _NUMBER.finditer(composed(text).casefold()):  # Hindi writes the dot of a letter in two ways
        whole, decimals = (_NOT_A_DIGIT.sub("", part or "")[:_LONGEST] for part in match.groups()[:2])
        found = [int(part) for part in (whole, decimals) if part]
        digits.update(found)
        power = sum(int(str(word.lastgroup)[1:]) for word in _POWER.finditer(match[3] or ""))
        goes_on = last_power > power and match.start() <= end + bool(power)
        if power or goes_on:
            value = int(whole + decimals) * 10**power // 10 ** len(decimals)
            values[last] -= goes_on
            last = value + last * goes_on
            values[last] += 1
        elif not match[4]:
            values.update(found)
        last_power, end = power, match.end()
    return digits, +values


def _difference(src: Counter[int], tgt: Counter[int]) -> float:
    if not src and not tgt:
        return 0.0
    n_equal = sum((src & tgt).values())
    only_src, only_tgt = src - tgt, tgt - src
    n_shifted = sum(
        min(count, only_tgt[number + shift]) + min(count, only_tgt[number - shift])
        for number, count in only_src.items()
        for shift, numbers in _SHIFTS.items()
        if number in numbers
    )
    n_src, n_tgt = only_src.total() - n_shifted, only_tgt.total() - n_shifted
    if min(n_src, n_tgt) <= 0:
        n_different = sum(n for number, n in (only_src + only_tgt).items() if not _may_be_in_words(number))
    else:
        n_different = n_src + n_tgt
    return (n_different + 1) / (n_equal + n_shifted + 1)


def _may_be_in_words(number: int) -> bool:
    return number < _IN_WORDS_BELOW or number % 100 == 0 or number in _YEARS
