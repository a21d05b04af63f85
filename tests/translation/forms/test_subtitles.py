"""SubRip and WebVTT: only texts change."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from tests.translation.forms.reading import pieces_of, texts_of, translated

SRT = """1
00:00:01,000 --> 00:00:02,500 X1:1 X2:2
Un chat dort
sur le lit.

2
00:00:03,000 --> 00:00:04,000
<i>- Où vas-tu</i>
<i>mon ami ?</i>
- À la gare.


3
00:01:00,000 --> 00:01:04,000
{\\an8}<font color="#fff">♪ La la la
la la ♪</font>

4
00:01:05,000 --> 00:01:06,000

5
00:01:07,000 --> 00:01:08,000
...
♪
"""
VTT = """WEBVTT - a film
Kind: captions

STYLE
::cue { color: red }

NOTE
Un commentaire
de deux lignes

intro
00:01.000 --> 00:02.000 align:start position:0%
<v Anne>Je m'appelle &amp; suis &lt;Anne&gt;.</v>

00:00:03.000 --> 00:00:04.000
<v Roger>Moi non.
<v Anne>Oui !

NOTE la fin"""


# --- what is translated ---


def test_the_lines_of_a_subtitle_are_one_text_and_each_speaker_has_another() -> None:
    assert texts_of(SRT, "srt") == ["Un chat dort sur le lit.", "Où vas-tu mon ami ?", "À la gare.", "La la la la la"]
    assert texts_of(VTT, "vtt") == ["Je m'appelle & suis <Anne>.", "Moi non.", "Oui !"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("text", "form"), [(SRT, "srt"), (VTT, "vtt")])
def test_all_but_the_texts_stays(text: str, form: str, mark: str, end: str) -> None:
    text = mark + text.replace("\n", end)
    expected = text
    for source, new in [
        ("Un chat dort\nsur le lit.", "X"),
        ("<i>- Où vas-tu</i>\n<i>mon ami ?</i>", "<i>- X</i>"),
        ("- À la gare.", "- X"),
        ("La la la\nla la ", "X "),
        ("Je m'appelle &amp; suis &lt;Anne&gt;.", "X"),
        ("Moi non.", "X"),
        ("Oui !", "X"),
    ]:
        expected = expected.replace(source.replace("\n", end), new)
    assert translated(text, form, translate=lambda _: "X") == expected


def test_subtitles_of_one_line_come_back_as_they_were() -> None:
    for text, form in [(SRT, "srt"), (VTT, "vtt")]:
        once = translated(text, form)
        assert translated(once, form) == once
    assert translated(VTT, "vtt") == VTT


@pytest.mark.parametrize(
    ("cue", "texts", "rendered"),
    [
        (["- Oui", "- Non"], ["Oui", "Non"], ["- OUI", "- NON"]),
        (["-Oui", "—Non"], ["Oui", "Non"], ["-OUI", "—NON"]),
        (["\u202b-מה?\u202c", "\u200f- כן."], ["מה?", "כן."], ["\u202b-מה?\u202c", "\u200f- כן."]),
        (["－はい", "－いいえ"], ["はい", "いいえ"], ["－はい", "－いいえ"]),
        (["他昨天", "走了，我们没看见。"], ["他昨天走了，我们没看见。"], ["他昨天走了，", "我们没看见。"]),
        (["Il fait", "-5 degrés"], ["Il fait -5 degrés"], ["IL FAIT", "-5 DEGRÉS"]),
        (["À l'arrière-", "plan"], ["À l'arrière-plan"], ["À", "L'ARRIÈRE-PLAN"]),
        (["♪ La la ♪", "Il chante."], ["La la", "Il chante."], ["♪ LA LA ♪", "IL CHANTE."]),
        (["<i>Oui.</i>", "<i>Non.</i>"], ["Oui. Non."], ["<i>OUI.", "NON.</i>"]),
        (["<i>- Oui.", "- Non.</i>"], ["Oui.", "Non."], ["<i>- OUI.", "- NON.</i>"]),
        (["{\\an8}- <b>Oui</b>", "..."], ["Oui"], ["{\\an8}- <b>OUI</b>", "..."]),
        (["un<br/>chat <3 deux"], ["un chat <3 deux"], ["UN CHAT <3 DEUX"]),
        ([" ", "Oui."], ["Oui."], [" ", "OUI."]),
        (["  Oui.  "], ["Oui."], ["  OUI.  "]),
    ],
)
def test_what_stands_around_a_text_stays_there(cue: list[str], texts: list[str], rendered: list[str]) -> None:
    head = "1\n00:00:01,000 --> 00:00:02,000\n"
    text = head + "\n".join(cue)
    assert texts_of(text, "srt") == texts
    assert translated(text, "srt", translate=str.upper) == head + "\n".join(rendered)
    assert not [piece.findings for piece in pieces_of(text, "srt") if piece.findings]


@pytest.mark.parametrize("cue", ["<i\nb>", "- {\\an8\nb}", "<i<br>b>", "<i</i> <i>b>"])
def test_lines_that_form_a_tag_together_have_no_text(cue: str) -> None:
    text = f"1\n00:00:01,000 --> 00:00:02,500\n{cue}\n"
    assert texts_of(text, "srt") == []
    assert translated(text, "srt") == text


@pytest.mark.parametrize(
    ("cue", "texts", "kept", "left_out"),
    [
        ("Il <i>dort</i> ici.", ["Il dort ici."], "{}", "<i> </i>"),
        ("<i>Il</i> <b>dort</b>", ["Il dort"], "{}", "<i> </i> <b> </b>"),
        ("<i>Il <b>dort</b> ici.</i>", ["Il dort ici."], "<i>{}</i>", "<b> </b>"),
        ("- Il <i>dort\n- Oui</i>", ["Il dort", "Oui"], "- {}\n- {}", "<i> </i>"),
        ("<i>Il</i> dort\n- <i>Oui</i>", ["Il dort", "Oui"], "{}\n- {}", "<i> </i> <i> </i>"),
        ("le<00:00:01.500><c> chat</c> dort", ["le chat dort"], "{}", "<00:00:01.500> <c> </c>"),
    ],
)
def test_tags_inside_a_text_are_left_out_in_pairs_and_said_so(
    cue: str, texts: list[str], kept: str, left_out: str
) -> None:
    head = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n"
    piece = pieces_of(head + cue, "vtt")[-1]
    assert piece.texts == texts
    assert piece.render(piece.texts) == kept.format(*texts)
    (finding,) = piece.findings
    assert finding.kind == "tags"
    assert f"The tags {left_out} are left out" in finding.message


def test_a_translation_has_balanced_lines_and_not_more_than_the_source() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nUn petit chat qui dort\nsur le lit.\n"
    head = cue[: cue.index("Un")]
    longer = "a little cat that always sleeps on the very big bed"
    found = translated(cue, "srt", translate=lambda _: longer)
    assert found == f"{head}a little cat that always\nsleeps on the very big bed\n"
    assert translated(cue, "srt", translate=lambda _: "a cat") == f"{head}a cat\n"
    assert translated(cue, "srt", translate=lambda _: "") == head


def test_a_translation_cannot_become_markup() -> None:
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nOui\n"
    assert translated(vtt, "vtt", translate=lambda _: "a < b & --> <i>").endswith("\na &lt; b &amp; --&gt; &lt;i&gt;\n")


def test_spaces_in_the_blank_line_before_a_number_are_no_text() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nUn\n \n2\n00:00:03,000 --> 00:00:04,000\nDeux\n \n"
    assert texts_of(text, "srt") == ["Un", "Deux"]
    assert translated(text, "srt") == text


def test_a_subtitle_may_follow_a_header_or_a_note_at_once() -> None:
    text = "WEBVTT\n00:01.000 --> 00:02.000\nUn\n\nNOTE\n00:01.000 --> 00:02.000\nDeux\n"
    assert texts_of(text, "vtt") == ["Un", "Deux"]


cue_lines = st.lists(st.text(st.sampled_from("abé1 .-♪<>i/{}\\&;"), min_size=1), min_size=1, max_size=4)


@given(cues=st.lists(cue_lines, max_size=4), form=st.sampled_from(["srt", "vtt"]))
def test_timing_stays_whatever_the_text(cues: list[list[str]], form: str) -> None:
    header = "WEBVTT\n\n" if form == "vtt" else ""
    heads = [f"{n}\n00:00:0{n}.000 --> 00:00:0{n}.500\n" for n in range(len(cues))]
    text = header + "".join(f"{head}{chr(10).join(cue)}\n\n" for head, cue in zip(heads, cues, strict=True))
    found = translated(text, form)
    rest = found.removeprefix(header)
    for head, cue in zip(heads, cues, strict=True):
        assert rest.startswith(head)
        block, _, rest = rest[len(head) :].partition("\n\n")
        assert len(block.split("\n")) <= len(cue)
        if not re.search("[<{&>]", "".join(cue)):  # no markup
            assert "".join(block.split()) == "".join("".join(cue).split())
    assert not rest


# --- what is refused ---

HEAD = "1\n00:00:01,000 --> 00:00:02,000\n"


@pytest.mark.parametrize(
    ("text", "form", "line", "problem"),
    [
        ("Un chat\n", "srt", 1, "expected the number and the timing of a subtitle, such as 1 and 00:"),
        (f"{HEAD}Un\n\nDeux\n", "srt", 5, "found 'Deux'; correct it, or remove a blank line before it"),
        (f"{HEAD}Un\n\nDeux\n{HEAD[2:]}", "srt", 5, "found 'Deux'"),
        (f"{HEAD}Un\n\n2\nDeux\n", "srt", 5, "found '2'"),
        (f"{HEAD}Un\n\n2\n\n", "srt", 5, "found '2'"),
        (f"{HEAD}Un\n\n2\n00:00 --> 00:01\n", "srt", 5, "found '2'"),
        (f"{HEAD}Un\n\n2", "srt", 5, "found '2'"),
        (f"{HEAD}Un\n00:00:03,000 --> 00:00:04,000\n", "srt", 4, "a timing inside the text of a subtitle"),
        (f"{HEAD}Un\n2\n00:00:03,000 --> 00:00:04,000\n", "srt", 5, "a timing inside the text of a subtitle"),
        (HEAD + "Un\n" * 101, "srt", 101, "a subtitle has more than 100 lines"),
        (HEAD, "vtt", 1, "expected WEBVTT at the beginning, found '1'"),
        ("WEBVTT\n\nUn chat\ndort\n", "vtt", 3, "expected the number"),
        ("WEBVTT\n\n00:01 --> 00:02\n", "vtt", 3, "expected the number"),
    ],
)
def test_what_is_no_subtitle_is_refused_with_its_line(text: str, form: str, line: int, problem: str) -> None:
    with pytest.raises(TranslationError) as refused:
        pieces_of(text, form)
    assert str(refused.value).startswith(f"a:{line}: ")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
