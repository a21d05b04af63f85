"""Adjectives: French masculine and feminine, English, position, and the nouns they may describe.

"grand" is "tall" of people and "large" of things, "gros" is "big": the noun decides, in both directions.
"""

from dataclasses import dataclass

from . import french
from .nouns import Noun, select
from .tables import rows

FOOD = "fruit vegetable bakery staple"
SIZED = "dishes furniture luggage building room city"
PRETTY = "plant city robe manteau écharpe bague vase"
HUMANS = "person family"

# Masculine feminine | English | before or after the noun | nouns
TABLE = f"""
    petit petite | small | before | {SIZED} animal thing lac île plante arbre
    grand grande | tall | before | {HUMANS}
    grand grande | large | before | {SIZED} nature tree miroir tapis
    gros grosse | big | before | animal fruit vegetable gâteau carton sac
    beau belle | beautiful | before | {PRETTY} art tree nature building cheval oiseau
    joli jolie | pretty | before | {PRETTY} clothes papillon chanson tasse poupée photo
    nouveau nouvelle | new | before | car bike clothes device phone school furniture professeur voisin
    vieux vieille | old | before | {HUMANS} building car bike furniture journal photo horloge livre
    jeune jeune | young | before | homme femme fille garçon person chien chat cheval
    bon bonne | good | before | {FOOD} livre roman film vin café
    mauvais mauvaise | bad | before | film roman vin café soupe
    long longue | long | before | lettre roman robe film voyage pont réunion rue échelle
    rouge rouge | red | after | clothes car bike plant pomme stylo crayon sac rideau coussin
    bleu bleue | blue | after | clothes car bike stylo crayon sac tasse assiette rideau coussin porte
    vert verte | green | after | clothes car bike pomme crayon bouteille plante porte fauteuil
    jaune jaune | yellow | after | clothes car bike plant crayon citron tasse parapluie
    noir noire | black | after | clothes car bike chat chien cheval stylo sac parapluie
    blanc blanche | white | after | clothes car bike plant chat chien lapin cheval assiette mur maison
    gris grise | grey | after | clothes car chat souris lapin âne mur canapé
    violet violette | purple | after | clothes plant crayon parapluie coussin
    lourd lourde | heavy | after | luggage tool furniture dictionnaire carton
    léger légère | light | after | luggage veste robe
    cher chère | expensive | after | clothes car phone hôtel appartement billet bague tableau
    propre propre | clean | after | dishes clothes room car main
    sale sale | dirty | after | dishes clothes room car main
    vide vide | empty | after | bouteille verre boîte panier valise seau tiroir maison rue plage
    plein pleine | full | after | bouteille verre boîte panier valise seau
    cassé cassée | broken | after | dishes device phone chaise vélo fenêtre jouet échelle parapluie
    chaud chaude | hot | after | soupe café thé lait pain eau crêpe tarte omelette
    froid froide | cold | after | soupe café thé lait eau bière limonade viande poulet
    frais fraîche | fresh | after | fruit vegetable pain poisson lait
    sucré sucrée | sweet | after | fruit thé gâteau confiture biscuit
    salé salée | salty | after | soupe jambon fromage beurre eau
    délicieux délicieuse | delicious | after | {FOOD}
    mûr mûre | ripe | after | fruit tomate
    moderne moderne | modern | after | building room furniture ville quartier
    confortable confortable | comfortable | after | canapé fauteuil chaise lit chaussure appartement
    utile utile | useful | after | tool school parapluie
    rapide rapide | fast | after | car train bateau avion vélo cheval
    dangereux dangereuse | dangerous | after | rue montagne rivière loup pont
    calme calme | quiet | after | quartier village rue plage lac hôtel
    bruyant bruyante | noisy | after | rue quartier voisin camion moto
    intéressant intéressante | interesting | after | livre roman article histoire film leçon émission question
    ennuyeux ennuyeuse | boring | after | livre roman article film réunion leçon émission spectacle
    difficile difficile | difficult | after | leçon exercice problème question règlement
    facile facile | easy | after | leçon exercice question problème
    triste triste | sad | after | {HUMANS} chanson histoire film
    drôle drôle | funny | after | histoire film singe oncle cousin
    étrange étrange | strange | after | histoire film question message maison
    magnifique magnifique | magnificent | after | nature château église pont spectacle concert tableau
    rond ronde | round | after | table miroir tapis boîte assiette horloge
    carré carrée | square | after | table boîte tapis fenêtre
    élégant élégante | elegant | after | clothes femme homme
    gentil gentille | kind | after | {HUMANS}
    heureux heureuse | happy | after | {HUMANS}
    fatigué fatiguée | tired | after | {HUMANS} cheval chien
    malade malade | sick | after | {HUMANS} chat chien cheval vache
    content contente | pleased | after | {HUMANS}
    intelligent intelligente | intelligent | after | {HUMANS} chien singe
    courageux courageuse | brave | after | {HUMANS} pompier
    poli polie | polite | after | {HUMANS}
    patient patiente | patient | after | {HUMANS}
    timide timide | shy | after | {HUMANS} écureuil
    célèbre célèbre | famous | after | chanteuse actrice peintre cuisinier tableau château film histoire
    sérieux sérieuse | serious | after | {HUMANS}
    curieux curieuse | curious | after | {HUMANS} chat singe
    inquiet inquiète | worried | after | {HUMANS}
    occupé occupée | busy | after | {HUMANS}
    prêt prête | ready | after | meal gâteau soupe {HUMANS}
    fragile fragile | fragile | after | vase verre assiette tasse miroir
    étroit étroite | narrow | after | rue pont lit porte
    ouvert ouverte | open | after | opening boîte
    fermé fermée | closed | after | opening boîte
    pointu pointue | sharp | after | couteau crayon
"""
PREPOSED_BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}


@dataclass(frozen=True)
class Adjective:
    name: str
    feminine: str
    en: str
    is_preposed: bool
    nouns: frozenset[str]

    @property
    def key(self) -> str:
        return f"adjective:{self.name}"

    def form(self, gender: str, is_plural: bool) -> str:
        singular = self.feminine if gender == "f" else self.name
        return french.plural(singular) if is_plural else singular

    def suits(self, noun: Noun) -> bool:
        return noun.name in self.nouns


def _parse(forms: str, en: str, position: str, nouns: str) -> Adjective:
    masculine, feminine = forms.split()
    return Adjective(masculine, feminine, en, position == "before", frozenset(noun.name for noun in select(nouns)))


ADJECTIVES = [_parse(*row) for row in rows(TABLE)]
