"""Words that decide whether a stop ends a sentence: abbreviations, and words that begin sentences. In lower case."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# All without the last stop. Only with a capital: elsewhere, "mm." may be millimetres.
TITLES = _words(
    "m mm mme mmes mlle mlles mgr pr dr drs prof mr mrs ms messrs gen col lt sgt capt cpt cmdr maj sen rep gov rev hon "
    "pres supt adm pfc cpl sra srta"
)
# What ends a sentence only before a word that often begins one: the first only with a capital.
STATES = _words(
    "ala ariz calif colo conn fla ga ill ind kan mass md mich minn mo neb nev okla pa penn tenn tex va wash wis"
)
SOMETIMES_LAST = _words(
    "inc co corp ltd llc plc bros cie jr sr st ste mt ft ave blvd rd sq dept univ assn govt al str usw"
)
NEVER_LAST = _words("e.g i.e cf vs viz c.-à-d p.ex av apr bd env approx incl excl resp z.b d.h bzw u.a ca v")
# What may also be a word or the end of a sentence if no number follows: "no. 5", but "He said no."
BEFORE_NUMBERS = _words(
    "no nos n° n nr p pp vol vols t art arts al fig figs ch chap sec sect tab eq ex ann réf ref tél tel ver v rev op "
    "jan janv feb févr fév mar apr avr jun jul juil aug août sep sept oct nov dec déc mon tue wed thu fri sat sun"
)
STARTERS = _words(  # English
    "the this that these those there then they he she it we you i in on at as if but and or so for from after before "
    "when while where what who why how which his her its our their my your a an one not no yes now however although "
    "though because since until with without by to do did does is are was were have has had can could would should "
    "might must let please here all some many most each every both once also another such nobody everyone "
    "someone nothing don two three four five several people "
    # French
    "le la les l un une des du de d il elle ils elles on nous vous je j tu ce c cet cette ces ça cela ceci son sa ses "
    "mon ma mes ton ta tes notre votre leur leurs nos vos mais et ou où donc or car puis ensuite alors ainsi aussi "
    "après avant avec sans pour par dans en sur sous chez depuis pendant quand lorsque si s comme que qui quoi quel "
    "quelle quels quelles pourquoi comment combien est était qu n ne ni non oui personne rien tout tous toute toutes "
    "chaque plusieurs certains aujourd hier demain maintenant ici là deux trois quatre cinq cependant "
    "toutefois pourtant enfin voici voilà"
)
IN_NAMES = _words("le la les l de du des d a")  # J. Le Goff
AFTER_TIMES = _words(
    "monday tuesday wednesday thursday friday saturday sunday est edt cst cdt mst mdt pst pdt gmt utc cet bst"
)
GERMAN_MONTHS = _words("januar februar märz april mai juni juli august september oktober november dezember")
# What no sentence ends with if its stop is forgotten.
NEED_MORE = _words(
    "a an the of to in on at by for from with and or as called titled entitled exhibit hepatitis virus viruses class "
    "vitamin grade plan un une le la les de du des à dans sur pour par avec et ou en chez film livre roman titre "
    "intitulé intitulée fondation hépatite hépatites vitamine nouvel"
)
NOT_AFTER_ARTICLES = _words("to in on of at and or is was are were has had will can by for from with et ou est levels")
