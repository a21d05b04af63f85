"""The English of the sample corpus is right. The checks read the text."""

from tests.data.sample_corpus import ALL_EN, IRREGULAR_PASTS, MEN, WOMEN, listed, matching, words_of


def test_a_and_an_follow_the_sound() -> None:
    assert matching(r"\ba (?!useful)[aeiou]", ALL_EN) == []
    assert matching(r"\ban (?:[^aeiouh]|useful|house|horse|hat|ham|hen|heavy|happy|hot)", ALL_EN) == []
    assert matching(r"\ban?\s+(?:some|the|my|his|her|\w*men|mice|feet|children|geese|wolves|knives)\b", ALL_EN) == []


BASES = listed(
    """
    eat drink taste prepare cut serve wash dry buy sell pay choose take carry put try iron fold look
    find lose forget hide write receive open close turn clean sweep repair drive rent watch listen
    sing draw paint learn study teach explain understand correct finish know like love hate prefer
    want have see hear wait meet help invite call thank visit feed stroke brush water build push
    throw play need chase sleep run walk swim dance work cook
    """
)


def test_verbs_agree_with_a_singular_subject() -> None:
    singular = rf"(?:He|She|{'|'.join(MEN + WOMEN)}|(?:The|This) (?:man|woman|boy|girl|teacher|doctor|nurse|cook))"
    adverb = "(?:often |always |rarely |sometimes |never |no longer )?"
    bases = "|".join(sorted(set(BASES) - {"cut", "put", "read"}))
    assert matching(rf"^{singular} {adverb}(?:{bases}|are|were|am|do|have)\b", ALL_EN) == []
    several = rf"(?:We|I|(?:{'|'.join(MEN + WOMEN)}) and \w+|These \w+)"
    assert matching(rf"^{several} {adverb}(?:is|has|does|eats|buys|likes|watches|goes|carries) ", ALL_EN) == []
    assert len(matching(rf"^{singular} {adverb}(?:eats|buys|likes|watches|carries|has|goes)\b", ALL_EN)) > 40


def test_do_and_to_and_modals_take_the_bare_verb() -> None:
    irregular = "|".join(sorted(IRREGULAR_PASTS))
    auxiliary = r"(?:do|does|did|must|can) not|cannot|must|used to|going to|wants? to"
    inflected = rf"(?!feed|need|bed\b|bring|sing)(?:{irregular}|\w+(?:ed|ing))\b"
    assert matching(rf"\b(?:{auxiliary}) {inflected}", ALL_EN) == []
    assert matching(r"\b(?:do|does|did|must|can) not (?!dress|kiss|miss|press)\w+[^s]s\b", ALL_EN) == []
    assert matching(rf"\b(?:Do|Does|Did) [\w ]+? (?:{irregular})\b", ALL_EN) == []


def test_inflected_forms_are_spelled_right() -> None:
    words = {word for line in ALL_EN for word in words_of(line)}
    wrong = listed(
        """
    eated buyed goed drinked cutted putted catched teached thinked childs mans womans mouses gooses
    foots wolfs knifs shelfs scarfs potatos tomatos berrys citys lorrys diarys swiming runing siting
    geting puting cuting chating traveling traveled makeing writeing danceing prefered stoped planed
    tryed studyed carryed haves dos trys wellier beautifuler gooder badder happyer heavyer biger
    hoter wathes watchs washs brushs finishs
    """
    )
    assert words.isdisjoint(wrong)
