"""Faults in the site."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a page links to a heading that is not there",
        file="docs/configuration.md",
        text="(runs.md#resuming)",
        becomes="(runs.md#resumed)",
        tests=["tests/test_site.py::test_it_has_a_page_for_each_file_and_for_what_is_in_the_code"],
    ),
    Mutant(
        fault="sections within sections are left out of the page of keys",
        file="docs/reference.py",
        text="    for each in nested:\n",
        becomes="    for each in nested[:0]:\n",
        tests=["tests/test_site.py::test_the_reference_has_each_key_preset_option_and_rule"],
    ),
    Mutant(
        fault="what a file is ends with the line in its drawing",
        file="docs/reference.py",
        text="if not meaning and indent and indent >= column:",
        becomes="if not meaning and indent and indent < column:",
        tests=["tests/test_site.py::test_drawings_become_tables"],
    ),
]
