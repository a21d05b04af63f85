"""Verbs, what they mean, and which subjects and objects make sense with them.

The aspect letter fixes the English tense of a bare French present, so that no choice is left open:
    d  an activity: "Paul mange" is "Paul is eating"
    h  a way of life or a perception: "Paul voit" is "Paul sees"
    s  a state: as h, and never in the passé composé
    p  over in an instant: never a bare present and never an imparfait
"""

from dataclasses import dataclass

from . import english
from .nouns import Noun, select
from .tables import rows

EDIBLE = "fruit vegetable bakery staple"
PORTABLE = "school thing luggage clothes phone"
FRAGILE = "assiette verre tasse bol bouteille vase miroir fenêtre lampe"
COOKED = "soupe salade omelette gâteau tarte crêpe sandwich poulet riz viande poisson"
PETS = "chat chien lapin hamster tortue cheval"
PEOPLE = "person family"
BOUGHT = "thing plant reading home tool bike"
OWNED = "voiture moto bike maison appartement chalet instrument frère sœur cousin oncle tante ami neveu"
LIKED = "drink animal plant show song subject sport roman magazine poème histoire"
READABLE = "reading livre"

# French | English base, then past and participle if irregular | aspect | objects | subjects other than people
TRANSITIVE = f"""
    manger | eat ate eaten | d | {EDIBLE} |
    boire | drink drank drunk | d | drink |
    goûter | taste | d | {EDIBLE} vin bière limonade |
    préparer | prepare | d | {COOKED} meal café thé |
    couper | cut cut cut | d | fruit vegetable gâteau tarte pain fromage viande jambon |
    servir | serve | d | {COOKED} drink meal |
    laver | wash | d | dishes clothes fruit vegetable car |
    essuyer | dry | d | dishes |
    acheter | buy bought bought | d | {EDIBLE} pantry drink clothes school {BOUGHT} |
    vendre | sell sold sold | d | fruit vegetable {BOUGHT} car maison appartement art animal |
    payer | pay_for paid_for paid_for | d | paper meal billet clothes furniture voyage |
    choisir | choose chose chosen | d | clothes plant bakery film livre roman art cadeau |
    prendre | take took taken | d | {PORTABLE} train bus avion bateau tramway métro taxi |
    porter | carry | d | luggage carton échelle seau enfant |
    enlever | take_off* took_off* taken_off* | d | clothes |
    mettre | put_on* put_on* put_on* | d | clothes |
    essayer | try_on* | d | clothes |
    repasser | iron | d | chemise robe jupe veste cravate |
    plier | fold | d | chemise robe jupe pull écharpe carte_postale journal |
    ranger | put_away* put_away* put_away* | d | school clothes dishes tool jouet valise |
    chercher | look_for | d | {PORTABLE} {PETS} tool |
    trouver | find found found | p | {PORTABLE} {PETS} wild champignon |
    perdre | lose lost lost | p | {PORTABLE} match |
    oublier | forget forgot forgotten | p | {PORTABLE} leçon rendez-vous réunion |
    cacher | hide hid hidden | d | thing {READABLE} luggage chocolat |
    casser | break broke broken | p | {FRAGILE} chaise jouet appareil_photo montre |
    lire | read read read | d | {READABLE} |
    écrire | write wrote written | d | lettre roman poème article message histoire carte_postale chanson |
    recevoir | receive | p | lettre message carte_postale cadeau facture |
    ouvrir | open | d | opening boîte valise parapluie lettre bouteille cadeau |
    fermer | close | d | opening boîte valise parapluie livre |
    allumer | turn_on* | d | device |
    éteindre | turn_off* | d | device |
    nettoyer | clean | d | room furniture home opening car four |
    balayer | sweep swept swept | d | cuisine salon garage chambre rue |
    réparer | repair | d | car bike device phone furniture bateau jouet horloge mur pont |
    conduire | drive drove driven | d | voiture camion taxi tracteur bus tramway |
    garer | park | d | voiture camion moto taxi |
    louer | rent | d | appartement chalet voiture vélo bateau |
    regarder | watch | d | show émission télévision oiseau bateau avion |
    écouter | listen_to | d | song radio concert histoire {PEOPLE} |
    chanter | sing sang sung | d | chanson |
    dessiner | draw drew drawn | d | animal wild château église maison pont tree plant portrait |
    peindre | paint | d | mur portrait porte tableau building chaise |
    photographier | photograph | d | nature building animal wild plant |
    apprendre | learn | d | leçon poème chanson anglais espagnol |
    étudier | study | d | subject leçon |
    enseigner | teach taught taught | h | subject | professeur directrice mère père
    expliquer | explain | d | lesson histoire |
    comprendre | understand understood understood | s | lesson subject film article histoire poème |
    corriger | correct | d | exercice lettre article |
    finir | finish | d | exercice {READABLE} meal tableau gâteau |
    connaître | know knew known | s | person city chanson histoire actrice hôtel |
    aimer | like | s | {EDIBLE} {LIKED} instrument |
    adorer | love | s | {EDIBLE} {LIKED} |
    détester | hate | s | vegetable staple drink souris loup sport subject réunion match |
    préférer | prefer preferred preferred | s | {EDIBLE} {LIKED} |
    vouloir | want | s | {EDIBLE} drink clothes thing school bike {PETS} |
    avoir | have had had | s | {PORTABLE} {PETS} {OWNED} |
    voir | see saw seen | h | animal wild nature building {PEOPLE} transport film |
    entendre | hear heard heard | h | animal wild voiture train chanson piano violon {PEOPLE} |
    attendre | wait_for | d | train bus avion bateau tramway métro taxi {PEOPLE} lettre |
    rencontrer | meet met met | p | {PEOPLE} |
    aider | help | d | {PEOPLE} |
    inviter | invite | d | {PEOPLE} |
    appeler | call | d | {PEOPLE} chien chat taxi |
    remercier | thank | d | {PEOPLE} |
    embrasser | kiss | d | family enfant |
    saluer | greet | d | {PEOPLE} |
    visiter | visit | d | château église appartement maison city île |
    nourrir | feed fed fed | d | animal oiseau écureuil |
    caresser | stroke | d | {PETS} chèvre âne |
    promener | walk | d | chien |
    brosser | brush | d | cheval chien âne manteau |
    soigner | treat | d | {PETS} vache person | médecin infirmière
    planter | plant | d | plant tree vegetable |
    arroser | water | d | plant tree tomate |
    cueillir | pick | d | pomme poire orange fraise cerise citron pêche abricot tomate plant |
    construire | build built built | d | building bateau étagère |
    pousser | push | d | brouette vélo voiture porte |
    jeter | throw_away* threw_away* thrown_away* | d | carton journal boîte chaussure jouet magazine |
    gagner | win won won | p | match prize |
    réserver | book | d | hôtel billet table taxi |
    organiser | organise | d | event spectacle concert voyage |
    jouer_de | play | d | instrument |
    jouer_à | play | d | sport |
    rêver_de | dream_of | d | cheval voyage fête bateau île |
    s'occuper_de | look_after | d | {PETS} plant enfant mère grand-mère |
    avoir_besoin_de | need | s | school luggage parapluie tool billet passeport manteau voiture vélo |
    avoir_peur_de | be_afraid_of was_afraid_of been_afraid_of | s | souris chien loup abeille cheval oie |
    entrer_dans+ | enter | d | room château hôtel église cabane |
    monter_dans+ | get_on got_on got_on | d | train bus avion bateau tramway |
    descendre_de+ | get_off got_off got_off | d | train bus avion bateau tramway |
    grimper_à | climb | d | arbre échelle sapin pommier |
    chasser | chase | d | souris papillon oiseau canard lapin | chat chien renard loup
"""

# French (the auxiliary is être where marked +) | English | aspect | subjects other than people
INTRANSITIVE = """
    dormir | sleep slept slept | d | PEOPLE PETS
    courir | run ran run | d | PEOPLE chien chat cheval renard
    marcher | walk | d | PEOPLE âne
    nager | swim swam swum | d | PEOPLE canard tortue grenouille
    danser | dance | d |
    travailler | work | h |
    cuisiner | cook | d |
    pleurer | cry | d |
    crier | shout | d |
    sourire | smile | d |
    rire | laugh | d |
    tousser | cough | d |
    voyager | travel | d |
    bavarder | chat | d |
    patienter | wait | d |
    habiter | live | h |
    dessiner | draw drew drawn | d |
    jardiner | do_the_gardening did_the_gardening done_the_gardening | d |
    bricoler | do_odd_jobs did_odd_jobs done_odd_jobs | d |
    déjeuner | have_lunch had_lunch had_lunch | d |
    dîner | have_dinner had_dinner had_dinner | d |
    arriver+ | arrive | p | PEOPLE transport
    partir+ | leave left left | d | PEOPLE transport
    rester+ | stay | d |
    sortir+ | go_out went_out gone_out | d |
    tomber+ | fall fell fallen | p |
    rentrer+ | go_home went_home gone_home | d |
    revenir+ | come_back came_back come_back | d |
    venir+ | come came come | d |
    aller+ | go went gone | d |
    se_lever | get_up got_up got_up | d |
    se_coucher | go_to_bed went_to_bed gone_to_bed | d |
    se_réveiller | wake_up woke_up woken_up | d |
    s'habiller | get_dressed got_dressed got_dressed | d |
    se_doucher | have_a_shower had_a_shower had_a_shower | d |
    se_raser | shave | d |
    se_promener | go_for_a_walk went_for_a_walk gone_for_a_walk | h |
    se_reposer | rest | d |
    s'amuser | have_fun had_fun had_fun | d |
    se_dépêcher | hurry | d |
    s'endormir | fall_asleep fell_asleep fallen_asleep | d |
    s'asseoir | sit_down sat_down sat_down | d |
    s'arrêter | stop | p |
    se_tromper | make_a_mistake made_a_mistake made_a_mistake | p |
    se_baigner | bathe | d |
    se_marier | get_married got_married got_married | p |
    se_cacher | hide hid hidden | d |
    se_maquiller | put_on_make-up put_on_make-up put_on_make-up | d |
    aboyer | bark | d | chien
    voler | fly flew flown | d | wild
"""

# French | English | aspect | what is given or told: the receiver is a person, after "à" and "to"
DITRANSITIVE = f"""
    donner | give gave given | d | school plant bakery fruit clé billet jouet
    offrir | offer | d | plant livre cadeau bague montre jouet poupée vase écharpe
    montrer | show showed shown | d | {PORTABLE} art {READABLE} bike
    prêter | lend lent lent | d | school bike parapluie voiture tool valise
    rendre | return | d | school thing bike tool
    envoyer | send sent sent | d | lettre message carte_postale cadeau article
    apporter | bring brought brought | d | plant drink bakery journal lettre chaise
    vendre | sell sold sold | d | fruit bike furniture tableau
    raconter | tell told told | d | histoire tale
    lire | read read read | d | histoire lettre poème journal
"""

# French | English: the person follows "à" in French, and the English preposition (if any)
TO_PERSON = """
    parler | talk_to | d
    téléphoner | phone | d
    répondre | reply_to | d
    sourire | smile_at | d
    écrire | write_to wrote_to written_to | d
    ressembler | look_like | s
"""

# French | link | English | English link | aspect: verbs that govern an infinitive
GOVERNORS = """
    vouloir | | want | to | s
    aimer | | like | to | s
    détester | | hate | to | s
    préférer | | prefer preferred preferred | to | s
    espérer | | hope | to | h
    savoir | | know knew known | how to | s
    pouvoir | | can could | | s
    devoir | | must | | s
    essayer | de | try | to | d
    oublier | de | forget forgot forgotten | to | p
    décider | de | decide | to | p
    commencer | à | start | to | d
    apprendre | à | learn | to | d
    refuser | de | refuse | to | h
    promettre | de | promise | to | p
"""


@dataclass(frozen=True)
class Verb:
    """`fr` is the infinitive without "se"; `link` the preposition before the object ("de", "à" or none)."""

    fr: str
    link: str
    is_reflexive: bool
    takes_etre: bool
    en: str
    en_past: str
    en_participle: str
    aspect: str
    objects: tuple[Noun, ...] = ()
    subjects: tuple[Noun, ...] = ()  # empty: any person
    fr_rest: str = ""  # "besoin" of "avoir besoin de"
    en_link: str = ""

    @property
    def key(self) -> str:
        return f"verb:{self.fr}"

    @property
    def is_separable(self) -> bool:
        """ "turn off": an English pronoun goes between the two words."""
        return self.en.endswith("*")

    def english_form(self, form: str) -> tuple[str, str]:
        """The inflected head and its particle: ("looks", "for")."""
        whole = {"past": self.en_past, "participle": self.en_participle}.get(form, self.en)
        head, _, particle = whole.removesuffix("*").replace("_", " ").partition(" ")
        if form == "ing":
            head = english.ing(head)
        elif form == "third":
            head = english.third_person(head)
        return head, particle


def _english_parts(column: str) -> tuple[str, str, str]:
    forms = column.split()
    if len(forms) > 1:
        return forms[0], forms[1], forms[-1]
    head, underscore, particle = forms[0].partition("_")
    regular = english.past(head) + underscore + particle if not head.endswith("*") else head
    return forms[0], regular, regular


def _split_french(column: str) -> tuple[str, str, str, bool]:
    """ "s'occuper_de" -> (infinitive, rest, link, is_reflexive)."""
    is_reflexive = column.startswith(("se_", "s'"))
    infinitive, _, tail = column.removeprefix("se_").removeprefix("s'").partition("_")
    rest, _, link = tail.rpartition("_")
    return infinitive, rest, link, is_reflexive


def _verb(fr: str, en: str, aspect: str, objects: str = "", subjects: str = "") -> Verb:
    infinitive, rest, link, is_reflexive = _split_french(fr.rstrip("+"))
    base, past, participle = _english_parts(en)
    takes_etre = is_reflexive or fr.endswith("+")
    chosen = tuple(dict.fromkeys(select(objects)))
    return Verb(
        infinitive,
        link,
        is_reflexive,
        takes_etre,
        base,
        past,
        participle,
        aspect,
        chosen,
        tuple(select(subjects)),
        rest,
    )


TRANSITIVES = [_verb(fr, en, aspect, objects, subjects) for fr, en, aspect, objects, subjects in rows(TRANSITIVE)]
INTRANSITIVES = {
    fr.rstrip("+"): _verb(fr, en, aspect, "", subjects.replace("PEOPLE", PEOPLE).replace("PETS", PETS))
    for fr, en, aspect, subjects in rows(INTRANSITIVE)
}
DITRANSITIVES = [_verb(fr, en, aspect, objects) for fr, en, aspect, objects in rows(DITRANSITIVE)]
TO_PEOPLE = [_verb(fr + "_à", en, aspect) for fr, en, aspect in rows(TO_PERSON)]


def _governor(fr: str, link: str, en: str, en_link: str, aspect: str) -> Verb:
    base, past, participle = _english_parts(en)
    return Verb(fr, link, False, False, base, past, participle, aspect, en_link=en_link)


GOVERNING = {row[0]: _governor(*row) for row in rows(GOVERNORS)}

ETRE = _verb("être", "be was been", "s")
AVOIR = next(verb for verb in TRANSITIVES if verb.fr == "avoir" and not verb.link)
ALLER = _verb("aller", "go went gone", "d")
