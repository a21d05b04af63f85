"""Fixed phrases, French and English side by side: when, where, how, and who.

A time phrase belongs to exactly one kind below, and its kind decides the tense in both languages.
"""

from dataclasses import dataclass

from .tables import listed, mapping, rows


@dataclass(frozen=True)
class Phrase:
    fr: str
    en: str
    words: frozenset[str] = frozenset()  # keys of the words in it, for counting


def _phrases(table: str, part_of_speech: str) -> list[Phrase]:
    """Rows of "French | English | words to count"; without the third column the whole phrase is one word."""
    phrases = []
    for fr, en, *words in rows(table):
        keys = [f"noun:{w}" for w in words[0].split()] if words else [f"{part_of_speech}:{fr}"]
        phrases.append(Phrase(fr, en, frozenset(keys)))
    return phrases


HABIT = _phrases(
    """
    tous les jours | every day | jour
    tous les soirs | every evening | soir
    chaque matin | every morning | matin
    chaque semaine | every week | semaine
    le lundi | on Mondays | lundi
    le mardi | on Tuesdays | mardi
    le mercredi | on Wednesdays | mercredi
    le jeudi | on Thursdays | jeudi
    le vendredi | on Fridays | vendredi
    le samedi | on Saturdays | samedi
    le dimanche | on Sundays | dimanche
    en été | in summer | été
    en hiver | in winter | hiver
    une fois par semaine | once a week | fois semaine
    deux fois par mois | twice a month | fois mois
    """,
    "noun",
)
# After the French verb, before the English one.
FREQUENCY = _phrases(
    """
    souvent | often
    parfois | sometimes
    toujours | always
    rarement | rarely
    """,
    "adverb",
)
NOW = _phrases(
    """
    en ce moment | at the moment | moment
    """,
    "noun",
) + _phrases("maintenant | now", "adverb")
PAST = _phrases(
    """
    ce matin | this morning | matin
    hier soir | last night | soir
    la semaine dernière | last week | semaine
    l'année dernière | last year | année
    le mois dernier | last month | mois
    lundi dernier | last Monday | lundi
    mardi dernier | last Tuesday | mardi
    vendredi dernier | last Friday | vendredi
    samedi dernier | last Saturday | samedi
    l'été dernier | last summer | été
    il y a deux jours | two days ago | jour
    il y a trois semaines | three weeks ago | semaine
    """,
    "noun",
) + _phrases("hier | yesterday\navant-hier | the day before yesterday", "adverb")
FUTURE = _phrases(
    """
    ce soir | tonight | soir
    cet après-midi | this afternoon | après-midi
    la semaine prochaine | next week | semaine
    l'année prochaine | next year | année
    le mois prochain | next month | mois
    lundi prochain | next Monday | lundi
    jeudi prochain | next Thursday | jeudi
    dimanche prochain | next Sunday | dimanche
    l'été prochain | next summer | été
    dans une heure | in an hour | heure
    dans deux jours | in two days | jour
    """,
    "noun",
) + _phrases("demain | tomorrow\naprès-demain | the day after tomorrow\nbientôt | soon", "adverb")
LONG_AGO = _phrases(
    """
    à cette époque | at that time | époque
    chaque été | every summer | été
    pendant les vacances | during the holidays | vacances
    """,
    "noun",
) + _phrases("autrefois | in the old days", "adverb")
CLOCK = _phrases(
    """
    à sept heures | at seven o'clock | heure
    à huit heures | at eight o'clock | heure
    à neuf heures | at nine o'clock | heure
    à midi | at noon | midi
    à minuit | at midnight | minuit
    """,
    "noun",
)

HOW = mapping(
    """
    marcher | lentement
    courir | vite
    parler | doucement
    nager | lentement vite
    danser | bien beaucoup
    cuisiner | bien
    travailler | beaucoup bien sérieusement
    dormir | profondément bien
    crier | fort
    pleurer | beaucoup
    rire | fort beaucoup
    bavarder | longtemps
    voyager | beaucoup
    aboyer | fort
    voler | haut
    tousser | beaucoup
    dessiner | bien
    habiller | vite
    endormir | vite
    sourire | gentiment
    """
)
ADVERBS = mapping(
    """
    lentement | slowly
    vite | quickly
    doucement | quietly
    bien | well
    beaucoup | a lot
    sérieusement | seriously
    profondément | deeply
    fort | loudly
    longtemps | for a long time
    haut | high
    gentiment | kindly
    """
)
DEGREES = _phrases(
    "très | very\ntrop | too\nassez | quite\nvraiment | really\nun peu | a little",
    "adverb",
)

# French | English where | English where to | noun. French says both alike.
PLACE_TABLE = """
    à la maison | at home | home | maison
    à l'école | at school | to school | école
    à la gare | at the station | to the station | gare
    à la boulangerie | at the bakery | to the bakery | boulangerie
    au marché | at the market | to the market | marché
    au supermarché | at the supermarket | to the supermarket | supermarché
    à l'hôpital | at the hospital | to the hospital | hôpital
    au bureau | at the office | to the office | bureau
    à la bibliothèque | at the library | to the library | bibliothèque
    au cinéma | at the cinema | to the cinema | cinéma
    au théâtre | at the theatre | to the theatre | théâtre
    au musée | at the museum | to the museum | musée
    au restaurant | at the restaurant | to the restaurant | restaurant
    à la plage | at the beach | to the beach | plage
    à la piscine | at the swimming pool | to the swimming pool | piscine
    à la poste | at the post office | to the post office | poste
    à la banque | at the bank | to the bank | banque
    à la pharmacie | at the chemist's | to the chemist's | pharmacie
    au parc | at the park | to the park | parc
    à l'hôtel | at the hotel | to the hotel | hôtel
    à l'aéroport | at the airport | to the airport | aéroport
    au stade | at the stadium | to the stadium | stade
    à l'usine | at the factory | to the factory | usine
    à la ferme | at the farm | to the farm | ferme
    à l'université | at the university | to the university | université
    à la campagne | in the country | to the country | campagne
    à la montagne | in the mountains | to the mountains | montagne
    à Paris | in Paris | to Paris |
    à Lyon | in Lyon | to Lyon |
    à Marseille | in Marseille | to Marseille |
    à Londres | in London | to London |
    en France | in France | to France |
    en Italie | in Italy | to Italy |
    en Espagne | in Spain | to Spain |
    au Japon | in Japan | to Japan |
    au Canada | in Canada | to Canada |
    aux États-Unis | in the United States | to the United States |
    dans la cuisine | in the kitchen | | cuisine
    dans le jardin | in the garden | | jardin
    dans le salon | in the living room | | salon
    dans la chambre | in the bedroom | | chambre
    dans la forêt | in the forest | | forêt
    dans la rue | in the street | | rue
    dans le train | on the train | | train
    dans la mer | in the sea | | mer
    dans la rivière | in the river | | rivière
    dans le lac | in the lake | | lac
    dans la cour | in the yard | | cour
    au bord de la rivière | by the river | | bord rivière
    """


@dataclass(frozen=True)
class Place:
    name: str  # its noun or its proper name
    where: Phrase
    to: Phrase | None


def _place(fr: str, where: str, to: str, nouns: str) -> Place:
    words = frozenset(f"noun:{noun}" for noun in nouns.split())
    name = (nouns or fr).split()[-1]
    return Place(name, Phrase(fr, where, words), Phrase(fr, to, words) if to else None)


PLACES = {place.name: place for place in (_place(*row) for row in rows(PLACE_TABLE))}
CITIES = ["Paris", "Lyon", "Marseille", "Londres"]
COUNTRIES = ["France", "Italie", "Espagne", "Japon", "Canada", "États-Unis"]
FAR = [*CITIES, *COUNTRIES, "campagne", "montagne"]
NEARBY = [name for name, place in PLACES.items() if place.to and name not in FAR and name != "maison"]

# Where each verb happens; a verb that is not here takes no place.
SCENES = mapping(
    """
    manger | maison restaurant cuisine jardin parc
    boire | restaurant cuisine jardin maison
    préparer | cuisine
    couper | cuisine
    acheter | marché supermarché
    laver | cuisine jardin
    cuisiner | cuisine maison restaurant
    lire | bibliothèque jardin salon chambre parc train plage
    écrire | bureau salon bibliothèque train
    regarder | salon maison
    écouter | salon chambre
    dessiner | école jardin salon parc
    planter | jardin ferme
    arroser | jardin cour
    cueillir | jardin campagne
    promener | parc rue forêt
    dormir | chambre train salon hôtel
    courir | parc stade forêt rue
    marcher | forêt rue parc montagne
    nager | piscine mer lac rivière
    danser | salon cour théâtre rue
    travailler | bureau usine banque hôpital ferme bibliothèque aéroport poste
    jouer | parc jardin école stade salon cour
    bavarder | cour rue parc restaurant
    patienter | gare poste banque aéroport
    déjeuner | restaurant bureau école parc
    dîner | restaurant maison hôtel
    attendre | gare aéroport rue
    rencontrer | gare marché musée cinéma plage université
    reposer | salon chambre plage hôtel maison campagne
    baigner | mer lac rivière
    cacher | jardin forêt
    amuser | plage école parc cour
    étudier | bibliothèque université maison
    apprendre | école université
    habiter | Paris Lyon Marseille Londres campagne France Italie Japon Canada
    voyager | France Italie Espagne Japon Canada États-Unis
    rester | maison école hôtel hôpital campagne plage jardin
    perdre | train rue parc gare
    trouver | forêt rue jardin parc
    pleurer | chambre cour
    jardiner | campagne
    visiter | Paris France Italie Espagne
    photographier | campagne montagne
    """
)
TRANSPORT = _phrases(
    """
    en train | by train | train
    en bus | by bus | bus
    en voiture | by car | voiture
    en avion | by plane | avion
    en bateau | by boat | bateau
    à vélo | by bike | vélo
    à pied | on foot | pied
    """,
    "noun",
)
BY_LAND = [phrase for phrase in TRANSPORT if phrase.en not in {"by plane", "by boat", "by train"}]

PREPOSITIONS = mapping(
    """
    sur | on
    sous | under
    dans | in
    devant | in front of
    derrière | behind
    à côté de | next to
    près de | near
    """
)

MEN = listed("Paul Pierre Lucas Thomas Julien Antoine Nicolas Louis Karim Marc Émile Simon")
WOMEN = listed("Marie Léa Julie Sophie Claire Alice Emma Inès Nadia Louise Chloé Sarah")
NUMBERS = {"deux": "two", "trois": "three", "quatre": "four", "cinq": "five", "six": "six", "dix": "ten"}
