import pickle
import random

from seq2seq.corpus.disguises import DISGUISES


def test_kinds_have_their_order() -> None:
    assert " ".join(DISGUISES) == (
        "upper title lower accents quotes stop typos spaces emoji urls numbers placeholders join join3"
    )
    assert [name for name, disguise in DISGUISES.items() if disguise.ignores_case] == ["upper", "title", "lower"]
    assert {name: kind.n_lines for name, kind in DISGUISES.items() if kind.n_lines > 1} == {"join": 2, "join3": 3}


def test_each_name_is_that_of_its_kind_and_has_a_reason_of_one_line() -> None:
    for name, disguise in DISGUISES.items():
        assert disguise.name == name
        assert 10 < len(disguise.reason) < 90 and disguise.reason.isprintable()


def test_worker_processes_get_disguises_by_pickle() -> None:
    for name, there in pickle.loads(pickle.dumps(DISGUISES)).items():
        texts = ["Hier, l'élève dort.", "Yesterday, the pupil slept."]
        assert there.apply(texts, random.Random(1)) == DISGUISES[name].apply(texts, random.Random(1))
