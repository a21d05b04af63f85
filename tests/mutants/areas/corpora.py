"""Faults in corpora: by name, what is fetched, checked and kept; in files, what is a pair."""

from tests.mutants.mutant import Mutant

DOWNLOAD = "tests/corpus/named/test_download.py"
LIBRARY = "tests/corpus/named/test_library.py"
UNPACK = "tests/corpus/named/test_unpack.py"
FETCH = "tests/corpus/named/test_fetch.py"
UNITS = "tests/corpus/test_units.py"
TABLES = "tests/corpus/test_tables.py"

MUTANTS = [
    Mutant(
        fault="a cut connection ends the download",
        file="seq2seq/corpus/named/download.py",
        text='return _Cut(f"the connection was cut',
        becomes='return CorpusError(f"the connection was cut',
        tests=[f"{DOWNLOAD}::test_a_cut_download_goes_on_where_it_was_cut"],
    ),
    Mutant(
        fault="the rest of a file that has changed is added to the old begin",
        file="seq2seq/corpus/named/download.py",
        text='"If-Range": validator',
        becomes='"X-If-Range": validator',
        tests=[f"{DOWNLOAD}::test_a_cut_download_goes_on_where_it_was_cut"],
    ),
    Mutant(
        fault="a download without a validator goes on blindly",
        file="seq2seq/corpus/named/download.py",
        text='if state["url"] == masked(url) and state["validator"]:',
        becomes='if state["url"] == masked(url):',
        tests=[f"{DOWNLOAD}::test_without_a_validator_a_download_starts_anew"],
    ),
    Mutant(
        fault="the SHA-256 of a download is not compared",
        file="seq2seq/corpus/named/library.py",
        text="if wanted.sha256 and digest != wanted.sha256:",
        becomes="if False:",
        tests=[f"{LIBRARY}::test_wrong_bytes_are_refused_and_leave_nothing"],
    ),
    Mutant(
        fault="a server sends more than was promised",
        file="seq2seq/corpus/named/download.py",
        text="if most is not None and n_have > most:",
        becomes="if False:",
        tests=[f"{DOWNLOAD}::test_no_more_comes_than_was_promised"],
    ),
    Mutant(
        fault="a server may send a byte now and then, for ever",
        file="seq2seq/corpus/named/download.py",
        text="if n_counted < patience.least:",
        becomes="if not n_counted:",
        tests=[f"{DOWNLOAD}::test_a_server_that_drips_is_left"],
    ),
    Mutant(
        fault="a byte more makes a new count of attempts",
        file="seq2seq/corpus/named/download.py",
        text="- farthest >= patience.least else",
        becomes="- farthest > 0 else",
        tests=[f"{DOWNLOAD}::test_a_few_bytes_are_no_progress"],
    ),
    Mutant(
        fault="what a server says reaches the terminal as it is",
        file="seq2seq/errors.py",
        text='masked("\\n".join(map(printable, message.split("\\n"))))',
        becomes="masked(message)",
        tests=[f"{DOWNLOAD}::test_what_a_server_says_is_no_command_to_the_terminal"],
    ),
    Mutant(
        fault="headers of an archive fill the memory",
        file="seq2seq/corpus/named/unpack.py",
        text="        if self.left < 0:",
        becomes="        if False:",
        tests=[f"{UNPACK}::test_headers_without_an_end_are_not_read"],
    ),
    Mutant(
        fault="processes fetch the same file each",
        file="seq2seq/corpus/named/library.py",
        text='f"{name}.lock"',
        becomes='f"{name}.{os.getpid()}.lock"',
        tests=[f"{LIBRARY}::test_processes_that_want_the_same_share_one_download"],
    ),
    Mutant(
        fault="what the catalogue names anew is taken from the cache",
        file="seq2seq/corpus/named/library.py",
        text='sha256 in ("", note.sha256)',
        becomes="True",
        tests=[f"{LIBRARY}::test_a_shared_cache_is_read_and_not_written"],
    ),
    Mutant(
        fault="a name in an archive leads out of the folder",
        file="seq2seq/corpus/named/unpack.py",
        text="tarfile.data_filter(tarfile.TarInfo(name), str(folder)).name",
        becomes="name",
        tests=[f"{UNPACK}::test_no_name_leads_out_of_the_folder"],
    ),
    Mutant(
        fault="an archive may fill the disk",
        file="seq2seq/corpus/named/unpack.py",
        text="            if n_left < 0:",
        becomes="            if False:",
        tests=[f"{UNPACK}::test_what_becomes_too_large_is_stopped"],
    ),
    Mutant(
        fault="a download comes before files in data/NAME",
        file="seq2seq/corpus/named/fetch.py",
        text="_local(config, library, name) or fetch(library, name, languages)",
        becomes="fetch(library, name, languages)",
        tests=[f"{FETCH}::test_files_in_data_here_come_before_a_download"],
    ),
    Mutant(
        fault="files from an archive are joined in another order",
        file="seq2seq/corpus/named/parts.py",
        text="for member in members:",
        becomes="for member in sorted(members):",
        tests=[f"{FETCH}::test_parts_of_an_archive_that_is_fetched_once"],
    ),
    Mutant(
        fault="a table is cut with another seed than the catalogue names",
        file="seq2seq/corpus/named/parts.py",
        text='key if key in ("max_group", "seed") else f"n_{key}"',
        becomes='key if key in ("max_group",) else f"n_{key}"',
        tests=[f"{FETCH}::test_a_table_is_cut_as_the_command_cuts_it"],
    ),
    Mutant(
        fault="a corpus is cut so that nothing is left to train on",
        file="seq2seq/corpus/split.py",
        text="if len(small) < n_held_out or len(sizes) == n_held_out:",
        becomes="if len(small) < n_held_out:",
        tests=["tests/corpus/test_split.py::test_what_cannot_be_cut_is_one_sentence_and_leaves_nothing"],
    ),
    Mutant(
        fault="entities of XML are expanded",
        file="seq2seq/corpus/units.py",
        text="    parser.EntityDeclHandler = lambda",
        becomes="    _ = lambda",
        tests=[f"{UNITS}::test_xml_that_cannot_be_read_is_named_by_file_and_line"],
    ),
    Mutant(
        fault="an entity that the file does not define is dropped from the text",
        file="seq2seq/corpus/units.py",
        text="    parser.SkippedEntityHandler = lambda",
        becomes="    _ = lambda",
        tests=[f"{UNITS}::test_xml_that_cannot_be_read_is_named_by_file_and_line"],
    ),
    Mutant(
        fault="codes of a format are read as text",
        file="seq2seq/corpus/units.py",
        text="            if child.tag not in _CODES:\n",
        becomes="            if True:\n",
        tests=[f"{UNITS}::test_units_of_a_tmx_are_pairs_and_what_is_left_out_is_told_once"],
    ),
    Mutant(
        fault="units stay in memory",
        file="seq2seq/corpus/units.py",
        text="        found.clear()\n",
        becomes="        pass\n",
        tests=[f"{UNITS}::test_a_tmx_without_line_ends_is_read_in_bounded_memory"],
    ),
    Mutant(
        fault="a draft of a translation is trained on",
        file="seq2seq/corpus/units.py",
        text='state.startswith("needs-")',
        becomes='state.startswith("never-")',
        tests=[f"{UNITS}::test_finished_units_of_an_xliff_are_pairs_in_the_direction_of_each_file"],
    ),
    Mutant(
        fault="a fuzzy message is trained on",
        file="seq2seq/corpus/units.py",
        text="        elif entry.is_fuzzy:",
        becomes="        elif False:",
        tests=[f"{UNITS}::test_messages_of_a_po_are_pairs_in_either_direction"],
    ),
    Mutant(
        fault="the messages of a PO are always the source",
        file="seq2seq/corpus/units.py",
        text="pair if translated else pair[::-1]",
        becomes="pair",
        tests=[f"{UNITS}::test_messages_of_a_po_are_pairs_in_either_direction"],
    ),
    Mutant(
        fault="the quotes of a spreadsheet are trained on",
        file="seq2seq/corpus/tables.py",
        text="(is_quoted and '\"\"' in cell[1:-1]) or",
        becomes="False or",
        tests=[f"{TABLES}::test_a_tsv_that_a_spreadsheet_has_quoted_is_refused_and_read_as_csv"],
    ),
    Mutant(
        fault="a quote that is text is taken for that of a spreadsheet",
        file="seq2seq/corpus/tables.py",
        text="if '\"' in cell and not is_quoted:",
        becomes="if False:",
        tests=[f"{TABLES}::test_quotes_in_a_tsv_are_text"],
    ),
    Mutant(
        fault="a header is trained on",
        file="seq2seq/corpus/tables.py",
        text="if number == 1 and _is_header(source, cells):",
        becomes="if _is_header(source, cells) and number < 1:",
        tests=[f"{TABLES}::test_a_header_is_no_pair"],
    ),
    Mutant(
        fault="a header with the languages the other way around is skipped",
        file="seq2seq/corpus/tables.py",
        text='name in (column, "side") for',
        becomes="name for",
        tests=[f"{TABLES}::test_a_header_that_says_something_else_is_refused"],
    ),
    Mutant(
        fault="lines are never compared with those that stand further on",
        file="seq2seq/corpus/drift.py",
        text="- usual.evidence(line, _Line.of(later))",
        becomes="",
        tests=["tests/corpus/test_drift.py::test_the_place_where_lines_are_lost_is_named_with_both_texts"],
    ),
    Mutant(
        fault="the files of the other direction are read",
        file="seq2seq/corpus/sources.py",
        text='directions = ("", "." + "-".join(languages),',
        becomes='directions = ("", "." + "-".join(languages[::-1]),',
        tests=[
            "tests/corpus/test_sources.py::test_of_two_directions_a_prefix_finds_its_own_and_plain_names_come_first"
        ],
    ),
]
