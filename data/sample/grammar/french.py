"""French word forms: plurals, conjugation, agreement, elision and contraction."""

import re

PERSONS = 6  # je, tu, il/elle, nous, vous, ils/elles

# An h that blocks elision ("le hibou"); every other initial h is mute ("l'homme").
ASPIRATE = ("hamster", "hibou", "haricot", "hérisson", "haut", "huit")

ELIDED = {"je", "me", "te", "se", "ne", "de", "que", "le", "la"}
CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}

# Present for the six persons, then the past participle.
IRREGULAR: dict[str, str] = {
    "être": "suis es est sommes êtes sont été",
    "avoir": "ai as a avons avez ont eu",
    "aller": "vais vas va allons allez vont allé",
    "faire": "fais fais fait faisons faites font fait",
    "prendre": "prends prends prend prenons prenez prennent pris",
    "apprendre": "apprends apprends apprend apprenons apprenez apprennent appris",
    "comprendre": "comprends comprends comprend comprenons comprenez comprennent compris",
    "mettre": "mets mets met mettons mettez mettent mis",
    "promettre": "promets promets promet promettons promettez promettent promis",
    "voir": "vois vois voit voyons voyez voient vu",
    "croire": "crois crois croit croyons croyez croient cru",
    "vouloir": "veux veux veut voulons voulez veulent voulu",
    "pouvoir": "peux peux peut pouvons pouvez peuvent pu",
    "devoir": "dois dois doit devons devez doivent dû",
    "savoir": "sais sais sait savons savez savent su",
    "connaître": "connais connais connaît connaissons connaissez connaissent connu",
    "venir": "viens viens vient venons venez viennent venu",
    "revenir": "reviens reviens revient revenons revenez reviennent revenu",
    "partir": "pars pars part partons partez partent parti",
    "sortir": "sors sors sort sortons sortez sortent sorti",
    "dormir": "dors dors dort dormons dormez dorment dormi",
    "endormir": "endors endors endort endormons endormez endorment endormi",
    "servir": "sers sers sert servons servez servent servi",
    "courir": "cours cours court courons courez courent couru",
    "lire": "lis lis lit lisons lisez lisent lu",
    "écrire": "écris écris écrit écrivons écrivez écrivent écrit",
    "boire": "bois bois boit buvons buvez boivent bu",
    "conduire": "conduis conduis conduit conduisons conduisez conduisent conduit",
    "construire": "construis construis construit construisons construisez construisent construit",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent ouvert",
    "offrir": "offre offres offre offrons offrez offrent offert",
    "cueillir": "cueille cueilles cueille cueillons cueillez cueillent cueilli",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent reçu",
    "peindre": "peins peins peint peignons peignez peignent peint",
    "éteindre": "éteins éteins éteint éteignons éteignez éteignent éteint",
    "rire": "ris ris rit rions riez rient ri",
    "sourire": "souris souris sourit sourions souriez sourient souri",
    "asseoir": "assieds assieds assied asseyons asseyez asseyent assis",
}


def starts_with_vowel_sound(word: str) -> bool:
    lower = word.lower()
    return lower == "y" or (lower[0] in "aeiouàâéèêëîïôûœh" and not lower.startswith(ASPIRATE))


def plural(noun: str) -> str:
    if noun[-1] in "sxz":
        return noun
    if noun.endswith(("eau", "eu")):
        return noun + "x"
    return noun[:-2] + "aux" if noun.endswith("al") else noun + "s"


def _mute_stem(stem: str, infinitive: str) -> str:
    """The stem of a regular -er verb before a mute e: achèt-, jett-, préfèr-, nettoi-."""
    if stem.endswith("y"):
        return stem[:-1] + "i"
    if infinitive in {"appeler", "jeter"}:
        return stem + stem[-1]
    return re.sub(r"[eé]([^aeiouyéèê])$", r"è\1", stem)


def _soft_stem(stem: str) -> str:
    """The stem of a regular -er verb before a or o: mange-, commenç-."""
    if stem.endswith("g"):
        return stem + "e"
    return stem[:-1] + "ç" if stem.endswith("c") else stem


def _present_and_participle(infinitive: str) -> list[str]:
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive].split()
    stem = infinitive[:-2]
    if infinitive.endswith("er"):
        mute = _mute_stem(stem, infinitive)
        return [
            mute + "e",
            mute + "es",
            mute + "e",
            _soft_stem(stem) + "ons",
            stem + "ez",
            mute + "ent",
            stem + "é",
        ]
    if infinitive.endswith("ir"):
        return [stem + ending for ending in ("is", "is", "it", "issons", "issez", "issent", "i")]
    return [stem + ending for ending in ("s", "s", "", "ons", "ez", "ent", "u")]


def present(infinitive: str, person: int) -> str:
    return _present_and_participle(infinitive)[person]


def imperfect(infinitive: str, person: int) -> str:
    nous = "étons" if infinitive == "être" else present(infinitive, 3)
    ending = ("ais", "ais", "ait", "ions", "iez", "aient")[person]
    stem = nous.removesuffix("ons")
    if ending.startswith("i") and infinitive.endswith(("ger", "cer")):
        stem = infinitive[:-2]  # nous mangions, without the softening e
    return stem + ending


def imperative(infinitive: str, person: int) -> str:
    form = present(infinitive, person)
    return form[:-1] if person == 1 and form.endswith("es") else form


def participle(infinitive: str, gender: str = "m", is_plural: bool = False) -> str:
    return agree(_present_and_participle(infinitive)[6], gender, is_plural)


def agree(masculine: str, gender: str, is_plural: bool) -> str:
    """A past participle or a regular adjective, given its masculine singular."""
    form = masculine + "e" if gender == "f" else masculine
    return plural(form) if is_plural else form


def all_forms(infinitive: str) -> set[str]:
    """Every form of a verb that the corpus may use."""
    persons = range(PERSONS)
    forms = {infinitive} | {present(infinitive, p) for p in persons} | {imperfect(infinitive, p) for p in persons}
    forms |= {imperative(infinitive, 1)}
    return forms | {participle(infinitive, gender, number) for gender in "mf" for number in (False, True)}


def join(words: str) -> str:
    """Elide, then contract, across words: "à le hôtel de le père" -> "à l'hôtel du père"."""
    return " ".join(_contract(_elide(words.split())))


def _elide(words: list[str]) -> list[str]:
    joined: list[str] = []
    for word in words:
        before = joined[-1].rpartition("'")[2] if joined else ""
        is_elided = before in ELIDED or (before == "ce" and word.startswith(("est", "ét")))
        if (is_elided and starts_with_vowel_sound(word)) or (before == "si" and word in {"il", "ils"}):
            joined[-1] = joined[-1][:-1] + "'" + word
        else:
            joined.append(word)
    return joined


def _contract(words: list[str]) -> list[str]:
    joined: list[str] = []
    for word in words:
        if joined and (joined[-1], word) in CONTRACTED:
            joined[-1] = CONTRACTED[joined[-1], word]
        else:
            joined.append(word)
    return joined


def sentence(words: str, mark: str) -> str:
    text = join(words)
    space = "" if mark == "." else " "  # French puts a space before ? and !
    return text[0].upper() + text[1:] + space + mark
