"""The text of the bundled sample corpus, and a small lexicon.

The lexicon was written for the tests and shares nothing with the generator of the corpus.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from tests.places import ROOT

SAMPLE = ROOT / "data" / "sample"
SPLITS = {"train": 12_000, "valid": 500, "test": 500}
GENERATED = [f"{split}.{language}" for split in SPLITS for language in ("fr", "en")] + [
    "test.tags", "lemmas.tsv", "held_out.tsv",
]  # fmt: skip


def listed(text: str) -> list[str]:
    return text.split()


MEN = listed("Paul Pierre Lucas Thomas Julien Antoine Nicolas Louis Karim Marc Émile Simon")
WOMEN = listed("Marie Léa Julie Sophie Claire Alice Emma Inès Nadia Louise Chloé Sarah")


# Singulars only; words that are also verb forms ("porte", "montre") are left out.
MASCULINE = set(
    listed(
        """
    homme garçon boulanger facteur médecin cuisinier policier fermier pompier voisin serveur
    jardinier pêcheur père frère oncle cousin neveu chat chien cheval lapin canard cochon âne
    hamster singe éléphant oiseau hibou papillon loup renard écureuil hérisson citron abricot oignon
    champignon haricot concombre gâteau sandwich biscuit pain beurre fromage riz poulet poisson
    chocolat miel jambon sel lait café thé vin couteau bol lit canapé fauteuil miroir tapis vase
    rideau portail tiroir ordinateur téléphone livre stylo cahier crayon dictionnaire parapluie
    billet jouet ballon passeport sac panier marteau seau manteau chapeau gant roman poème magazine
    train avion bateau camion tracteur vélo arbre sapin château pont hôtel salon lac village
    quartier piano violon football tennis
    """
    )
)
FEMININE = set(
    listed(
        """
    table femme fille infirmière vendeuse chanteuse actrice directrice coiffeuse secrétaire mère sœur
    tante nièce vache chèvre poule oie tortue grenouille abeille pomme poire banane orange fraise
    cerise tomate carotte crêpe omelette viande soupe salade confiture farine huile eau bière
    limonade assiette fourchette cuillère tasse bouteille chaise armoire étagère horloge fenêtre
    lampe télévision radio clé boîte poupée bague valise pelle échelle brouette chemise robe jupe
    veste écharpe ceinture cravate chaussure chaussette botte lettre histoire leçon question musique
    chanson guitare flûte trompette voiture moto fleur tulipe maison église tour cuisine chambre
    forêt plage île montagne rivière ville rue
    """
    )
)


# masculine, feminine, masculine plural, feminine plural
ADJECTIVES = [row.split() for row in """
    bleu bleue bleus bleues
    vert verte verts vertes
    noir noire noirs noires
    blanc blanche blancs blanches
    gris grise gris grises
    violet violette violets violettes
    lourd lourde lourds lourdes
    léger légère légers légères
    froid froide froids froides
    frais fraîche frais fraîches
    sucré sucrée sucrés sucrées
    délicieux délicieuse délicieux délicieuses
    mûr mûre mûrs mûres
    intéressant intéressante intéressants intéressantes
    ennuyeux ennuyeuse ennuyeux ennuyeuses
    élégant élégante élégants élégantes
    heureux heureuse heureux heureuses
    fatigué fatiguée fatigués fatiguées
    content contente contents contentes
    intelligent intelligente intelligents intelligentes
    gentil gentille gentils gentilles
    sérieux sérieuse sérieux sérieuses
    inquiet inquiète inquiets inquiètes
    poli polie polis polies
    courageux courageuse courageux courageuses
    curieux curieuse curieux curieuses
    occupé occupée occupés occupées
    vieux vieille vieux vieilles
    petit petite petits petites
    grand grande grands grandes
    gros grosse gros grosses
    bon bonne bons bonnes
    nouveau nouvelle nouveaux nouvelles
    beau belle beaux belles
""".strip().splitlines()]  # fmt: skip
ASPIRATE = r"(?:hamster|hibou|haricot|hérisson|haut|huit)"
VOWEL = rf"(?!{ASPIRATE})[aeiouyàâéèêîôûœh]"
ETRE_PARTICIPLES = r"(?:allé|venu|revenu|parti|arrivé|tombé|sorti|rentré|resté|entré|monté|descendu)"
IRREGULAR_PASTS = set(
    listed(
        """
        ate drank bought sold paid took hid found lost forgot broke wrote saw heard met fed built threw won
        gave lent sent brought told slept ran swam left stayed fell went came got woke sat flew taught knew
        had was were
        """
    )
)


def lines_of(name: str) -> list[str]:
    return (SAMPLE / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")


FR = {split: lines_of(f"{split}.fr") for split in SPLITS}
EN = {split: lines_of(f"{split}.en") for split in SPLITS}
ALL_FR = [line for split in SPLITS for line in FR[split]]
ALL_EN = [line for split in SPLITS for line in EN[split]]


def words_of(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text.lower().replace("'", " "))


def matching(pattern: str, lines: list[str], unless: str = r"(?!)") -> list[str]:
    return [line for line in lines if re.search(pattern, line, re.I) and not re.search(unless, line, re.I)]


def bigrams(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        words = words_of(line)
        for first, second in pairwise(words):
            yield first, second, line


def plural(noun: str) -> str:
    if noun[-1] in "sxz":
        return noun
    if noun in {"cheval"}:
        return "chevaux"
    return noun + ("x" if noun.endswith(("eau", "eu", "hibou")) else "s")


LEXICON = {
    form: (gender, is_plural)
    for gender, nouns in (("m", MASCULINE), ("f", FEMININE))
    for noun in nouns
    if plural(noun) != noun
    for is_plural, form in ((False, noun), (True, plural(noun)))
}
FORMS_OF = {form: row for row in ADJECTIVES for form in row}


def agrees(adjective: str, gender: str, is_plural: bool) -> bool:
    return FORMS_OF[adjective][(gender == "f") + 2 * is_plural] == adjective
