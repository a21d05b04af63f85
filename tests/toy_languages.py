"""Eight scripts, and French: languages with a grammar each, small enough to be learned in seconds, and their English.

A sentence says who buys, sells, sees, finds or brings what and when, or asks it: some 7,000 different ones. The words,
their order and the marks are those of the language.
"""

import random
from dataclasses import dataclass
from itertools import product

_WHO = ("the doctor", "the teacher", "the farmer", "the student", "my brother", "my friend", "the boy", "the king")
_DO = ("buy", "sell", "see", "find", "bring")
_WHAT = ("bread", "rice", "milk", "tea", "fish", "salt", "fruit", "water")
_HOURS = range(5, 12)
_WHEN = ("every day", "every morning", "every evening", "on Sunday", *(f"at {hour}" for hour in _HOURS))


@dataclass(frozen=True)
class Language:
    """The words of a grammar, in the order of the English ones.

    Attributes:
        at: an hour, as in "at 7".
        says, asks: a sentence; the first letter of a sentence is made a capital.
        unknown: a character of this script that the grammar does not have.
    """

    code: str
    who: tuple[str, ...]
    do: tuple[str, ...]
    what: tuple[str, ...]
    when: tuple[str, ...]
    at: str
    says: str
    asks: str
    unknown: str

    def sentence(self, who: int, do: int, what: int, when: int, *, asks: bool = False) -> tuple[str, str]:
        """A sentence and its English, of words by their numbers."""
        whens = [*self.when, *(self.at.format(hour) for hour in _HOURS)]
        words = {"who": self.who[who], "do": self.do[do], "what": self.what[what], "when": whens[when]}
        source = (self.asks if asks else self.says).format(**words)
        predicate = f"{_WHAT[what]} {_WHEN[when]}"
        english = f"does {_WHO[who]} {_DO[do]} {predicate}?" if asks else f"{_WHO[who]} {_DO[do]}s {predicate}."
        return _capital(source), _capital(english)

    def pairs(self, n: int) -> list[tuple[str, str]]:
        """So many different ones, the same each time."""
        sizes = map(range, (len(_WHO), len(_DO), len(_WHAT), len(_WHEN), 2))
        drawn = random.Random(1).sample(list(product(*sizes)), n)
        return [self.sentence(who, do, what, when, asks=asks == 1) for who, do, what, when, asks in drawn]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


LANGUAGES = {
    language.code: language
    for language in (
        Language(
            "fr",
            _words("le médecin, le professeur, le fermier, l'étudiant, mon frère, mon ami, le garçon, le roi"),
            _words("achète, vend, voit, trouve, apporte"),
            _words("du pain, du riz, du lait, du thé, du poisson, du sel, des fruits, de l'eau"),
            _words("chaque jour, chaque matin, chaque soir, le dimanche"),
            at="à {} heures",
            says="{who} {do} {what} {when}.",
            asks="est-ce que {who} {do} {what} {when} ?",
            unknown="ŵ",
        ),
        Language(
            "zh",
            _words("医生, 老师, 农民, 学生, 我哥哥, 我朋友, 男孩, 国王"),
            _words("买, 卖, 看见, 找到, 带来"),
            _words("面包, 米饭, 牛奶, 茶, 鱼, 盐, 水果, 水"),
            _words("每天, 每天早上, 每天晚上, 星期天"),
            at="{}点",
            says="{who}{when}{do}{what}。",
            asks="{who}{when}{do}{what}吗？",
            unknown="龘",
        ),
        Language(
            "ja",
            _words("医者, 先生, 農家, 学生, 兄, 友達, 少年, 王様"),
            _words("買います, 売ります, 見ます, 見つけます, 持ってきます"),
            _words("パン, 米, 牛乳, お茶, 魚, 塩, 果物, 水"),
            _words("毎日, 毎朝, 毎晩, 日曜日に"),
            at="{}時に",
            says="{who}は{when}{what}を{do}。",
            asks="{who}は{when}{what}を{do}か？",
            unknown="鰐",
        ),
        Language(
            "th",
            _words("หมอ, ครู, ชาวนา, นักเรียน, พี่ชาย, เพื่อน, เด็กชาย, ราชา"),
            _words("ซื้อ, ขาย, เห็น, พบ, เอา"),
            _words("ขนมปัง, ข้าว, นม, ชา, ปลา, เกลือ, ผลไม้, น้ำ"),
            _words("ทุกวัน, ทุกเช้า, ทุกเย็น, วันอาทิตย์"),
            at="ตอน {} โมง",
            says="{who}{do}{what}{when}",
            asks="{who}{do}{what}{when}ไหม",
            unknown="ๆ",
        ),
        Language(
            "ar",
            _words("الطبيب, المعلم, الفلاح, الطالب, أخي, صديقي, الولد, الملك"),
            _words("يشتري, يبيع, يرى, يجد, يجلب"),
            _words("الخبز, الأرز, الحليب, الشاي, السمك, الملح, الفاكهة, الماء"),
            _words("كل يوم, كل صباح, كل مساء, يوم الأحد"),
            at="في الساعة {}",
            says="{who} {do} {what} {when}.",
            asks="هل {do} {who} {what} {when}؟",
            unknown="ظ",
        ),
        Language(
            "hi",
            _words("डॉक्टर, शिक्षक, किसान, छात्र, मेरा भाई, मेरा दोस्त, लड़का, राजा"),
            _words("खरीदता, बेचता, देखता, पाता, लाता"),
            _words("रोटी, चावल, दूध, चाय, मछली, नमक, फल, पानी"),
            _words("हर दिन, हर सुबह, हर शाम, रविवार को"),
            at="{} बजे",
            says="{who} {when} {what} {do} है।",
            asks="क्या {who} {when} {what} {do} है?",
            unknown="ञ",
        ),
        Language(
            "vi",
            _words("bác sĩ, giáo viên, nông dân, học sinh, anh tôi, bạn tôi, cậu bé, nhà vua"),
            _words("mua, bán, thấy, tìm, mang"),
            _words("bánh mì, gạo, sữa, trà, cá, muối, trái cây, nước"),
            _words("mỗi ngày, mỗi sáng, mỗi tối, vào Chủ nhật"),
            at="lúc {} giờ",
            says="{who} {do} {what} {when}.",
            asks="{who} có {do} {what} {when} không?",
            unknown="ẵ",
        ),
        Language(
            "el",
            _words("ο γιατρός, ο δάσκαλος, ο αγρότης, ο μαθητής, ο αδελφός μου, ο φίλος μου, το αγόρι, ο βασιλιάς"),
            _words("αγοράζει, πουλάει, βλέπει, βρίσκει, φέρνει"),
            _words("ψωμί, ρύζι, γάλα, τσάι, ψάρι, αλάτι, φρούτα, νερό"),
            _words("κάθε μέρα, κάθε πρωί, κάθε βράδυ, την Κυριακή"),
            at="στις {}",
            says="{who} {do} {what} {when}.",
            asks="{who} {do} {what} {when};",
            unknown="ξ",
        ),
        Language(
            "hy",
            _words("բժիշկը, ուսուցիչը, գյուղացին, ուսանողը, եղբայրս, ընկերս, տղան, թագավորը"),
            _words("գնում, վաճառում, տեսնում, գտնում, բերում"),
            _words("հաց, բրինձ, կաթ, թեյ, ձուկ, աղ, միրգ, ջուր"),
            _words("ամեն օր, ամեն առավոտ, ամեն երեկո, կիրակի օրը"),
            at="ժամը {}-ին",
            says="{who} {when} {what} է {do}։",
            asks="արդյո՞ք {who} {when} {what} է {do}։",
            unknown="ֆ",
        ),
    )
}  # fmt: skip
