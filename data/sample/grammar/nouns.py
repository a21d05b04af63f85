"""Nouns by semantic class: French, gender, English; a plural is written out only where the rules fail.

One French noun has one English noun and the reverse, so neither direction has to guess.
"""

from dataclasses import dataclass

from . import english, french

CLASSES: dict[str, str] = {
    "person": """
        homme m man/men; femme f woman/women; garçon m boy; fille f girl; enfant m child/children
        professeur m teacher; étudiant m student; boulanger m baker; facteur m postman/postmen
        infirmière f nurse; médecin m doctor; vendeuse f saleswoman/saleswomen; cuisinier m cook
        policier m policeman/policemen; fermier m farmer; pompier m fireman/firemen; voisin m neighbour
        chanteuse f singer; actrice f actress; serveur m waiter; jardinier m gardener
        pêcheur m fisherman/fishermen
        directrice f headmistress; coiffeuse f hairdresser; secrétaire f secretary; peintre m painter
    """,
    "family": """
        mère f mother; père m father; frère m brother; sœur f sister; grand-mère/grands-mères f grandmother
        grand-père/grands-pères m grandfather; oncle m uncle; tante f aunt; cousin m cousin; nièce f niece
        neveu m nephew; ami m friend
    """,
    "animal": """
        chat m cat; chien m dog; cheval m horse; vache f cow; lapin m rabbit; souris f mouse/mice
        chèvre f goat; canard m duck; poule f hen; cochon m pig; âne m donkey; hamster m hamster
        oie f goose/geese; tortue f turtle; singe m monkey; éléphant m elephant
    """,
    "wild": """
        oiseau m bird; hibou/hiboux m owl; grenouille f frog; papillon m butterfly; loup m wolf/wolves
        renard m fox; abeille f bee; écureuil m squirrel; hérisson m hedgehog
    """,
    "fruit": """
        pomme f apple; poire f pear; banane f banana; orange f orange; fraise f strawberry; cerise f cherry
        citron m lemon; pêche f peach; abricot m apricot; ananas m pineapple
    """,
    "vegetable": """
        tomate f tomato/tomatoes; carotte f carrot; oignon m onion; champignon m mushroom; haricot m bean
        pomme_de_terre/pommes_de_terre f potato/potatoes; concombre m cucumber
    """,
    "bakery": """
        gâteau m cake; tarte f tart; sandwich m sandwich; biscuit m biscuit; crêpe f pancake
        omelette f omelette
    """,
    "staple": """
        pain m bread; beurre m butter; fromage m cheese; riz m rice; viande f meat; poulet m chicken
        poisson m fish; chocolat m chocolate; confiture f jam; miel m honey; jambon m ham; soupe f soup
        salade f salad; glace f ice_cream
    """,
    "pantry": "sucre m sugar; sel m salt; farine f flour; huile f oil",
    "drink": """
        lait m milk; café m coffee; thé m tea; eau f water; vin m wine; bière f beer
        jus_d'orange m orange_juice; limonade f lemonade
    """,
    "dishes": """
        assiette f plate; verre m glass; couteau m knife/knives; fourchette f fork; cuillère f spoon
        tasse f cup
        bol m bowl; bouteille f bottle; casserole f saucepan
    """,
    "furniture": """
        table f table; chaise f chair; lit m bed; canapé m sofa; armoire f wardrobe; fauteuil m armchair
        étagère f shelf/shelves; bureau m desk
    """,
    "home": "miroir m mirror; tapis m rug; horloge f clock; vase m vase; coussin m cushion; rideau m curtain",
    "opening": "porte f door; fenêtre f window; portail/portails m gate; tiroir m drawer",
    "device": """
        lampe f lamp; télévision f television; radio f radio; ordinateur m computer; chauffage m heating
        four m oven; ventilateur m fan
    """,
    "phone": "téléphone m phone; montre f watch; appareil_photo/appareils_photo m camera",
    "school": """
        livre m book; stylo m pen; cahier m notebook; crayon m pencil; dictionnaire m dictionary
        gomme f eraser; règle f ruler
    """,
    "thing": """
        clé f key; parapluie m umbrella; billet m ticket; cadeau m gift; boîte f box; ballon m ball
        poupée f doll; bague f ring; passeport m passport; portefeuille m wallet; jouet m toy
    """,
    "luggage": "sac m bag; valise f suitcase; panier m basket; carton m cardboard_box",
    "tool": "marteau m hammer; échelle f ladder; pelle f shovel; seau m bucket; brouette f wheelbarrow",
    "clothes": """
        chemise f shirt; robe f dress; jupe f skirt; manteau m coat; chapeau m hat; veste f jacket
        pull m sweater
        écharpe f scarf/scarves; ceinture f belt; cravate f tie; imperméable m raincoat
        chaussure f shoe; chaussette f sock; gant m glove; botte f boot
    """,
    "reading": """
        roman m novel; lettre f letter; journal m newspaper; magazine m magazine; poème m poem
        article m article; carte_postale/cartes_postales f postcard; message m message; histoire f story
    """,
    "lesson": """
        leçon f lesson; exercice m exercise; problème m problem; question f question
        règlement m regulation
    """,
    "subject": """
        musique f music; géographie f geography; chimie f chemistry; physique f physics; anglais m English
        espagnol m Spanish
    """,
    "show": "film m film; match/matchs m match; concert m concert; pièce f play; spectacle m show",
    "song": "chanson f song; disque m record; émission f programme",
    "art": "tableau m painting; portrait m portrait; photo f photo; affiche f poster; dessin m drawing",
    "instrument": "piano m piano; violon m violin; guitare f guitar; flûte f flute; trompette f trumpet",
    "sport": "football m football; tennis m tennis; rugby m rugby; basket m basketball",
    "car": "voiture f car; camion m lorry; moto f motorbike; taxi m taxi; tracteur m tractor",
    "transport": """
        train m train; bus m bus; avion m plane; bateau m boat; tramway m tram; métro m underground
    """,
    "bike": "vélo m bike",
    "plant": "fleur f flower; rose f rose; tulipe f tulip; plante f plant",
    "tree": "arbre m tree; pommier m apple_tree; sapin m fir_tree; buisson m bush",
    "building": """
        maison f house; château m castle; église f church; pont m bridge; tour f tower; mur m wall
        immeuble m building; hôtel m hotel; appartement m flat; chalet m chalet; cabane f hut
    """,
    "room": """
        cuisine f kitchen; chambre f bedroom; salon m living_room; garage m garage
        salle_de_bains/salles_de_bains f bathroom
    """,
    "city": "ville f town; village m village; quartier m district; rue f street; place f square",
    "nature": """
        lac m lake; rivière f river; forêt f forest; plage f beach; île f island; montagne f mountain
        champ m field
    """,
    "tale": "blague f joke; secret m secret; légende f legend; rêve m dream",
    "prize": "prix m prize; médaille f medal; course f race",
    "body": "main f hand; pied m foot/feet; dent f tooth/teeth; visage m face",
    "meal": "petit_déjeuner/petits_déjeuners m breakfast; déjeuner m lunch; dîner m dinner",
    "paper": "facture f bill; loyer m rent",
    "event": "fête f party; mariage m wedding; voyage m trip; réunion f meeting; rendez-vous m appointment",
}

MASS_CLASSES = {"staple", "pantry", "drink", "subject", "sport"}


@dataclass(frozen=True)
class Noun:
    """`name` is the French singular and identifies the noun."""

    name: str
    gender: str
    fr_plural: str
    en: str
    en_plural: str
    semantic_class: str

    @property
    def is_mass(self) -> bool:
        return self.semantic_class in MASS_CLASSES

    @property
    def key(self) -> str:
        return f"noun:{self.name}"


def _parse(entry: str, semantic_class: str) -> Noun:
    # "_" keeps the words of a compound together in the table
    fr, gender, en = (part.replace("_", " ") for part in entry.split())
    fr, _, fr_plural = fr.partition("/")
    en, _, en_plural = en.partition("/")
    return Noun(fr, gender, fr_plural or french.plural(fr), en, en_plural or english.plural(en), semantic_class)


NOUNS: dict[str, Noun] = {
    noun.name: noun
    for semantic_class, table in CLASSES.items()
    for line in table.strip().splitlines()
    for noun in [_parse(entry.strip(), semantic_class) for entry in line.split(";")]
}


def select(spec: str) -> list[Noun]:
    """The nouns of a space-separated list of class names and single nouns ("_" for a space)."""
    chosen: list[Noun] = []
    for word in spec.split():
        if word in CLASSES:
            chosen += [noun for noun in NOUNS.values() if noun.semantic_class == word]
        else:
            chosen.append(NOUNS[word.replace("_", " ")])
    return chosen
