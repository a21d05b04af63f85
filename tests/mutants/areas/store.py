"""Faults in prepared text: what is read, what is left out, when the cache is used, what is verified."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a joiner that the tokenizer turns into a space is not told of",
        file="seq2seq/corpus/report.py",
        text='normalized(f"a{character}a")',
        becomes="normalized(character)",
        tests=["tests/corpus/test_report.py::test_what_the_tokenizer_writes_another_way_is_told"],
    ),
    Mutant(
        fault="the data report says nothing of characters that no translation can have",
        file="seq2seq/corpus/report.py",
        text='.get("rewritten"):  #',
        becomes='.get("nothing"):  #',
        tests=["tests/corpus/test_report.py::test_what_the_tokenizer_writes_another_way_is_told"],
    ),
    Mutant(
        fault="with nfc, a letter with two marks that no character has is not composed",
        file="seq2seq/nfc.py",
        text="_MOST_MARKS = 2",
        becomes="_MOST_MARKS = 1",
        tests=["tests/test_nfc.py::test_rows_of_marks_exclusions_and_syllables"],
    ),
    Mutant(
        fault="with nfc, white space is kept",
        file="seq2seq/nfc.py",
        text='" " for each in _characters() if each.isspace()',
        becomes="each for each in _characters() if each.isspace()",
        tests=["tests/test_nfc.py::test_white_space_is_single_spaces"],
    ),
    Mutant(
        fault="the cache gives the pairs that other filters kept",
        file="seq2seq/dataset/prepare.py",
        text='"filters": _filter_key(filters, splits, digests) if filters is not None else None,',
        becomes='"filters": None,',
        tests=["tests/dataset/test_prepare_cache.py::test_a_changed_setting_renews_what_depends_on_it"],
    ),
    Mutant(
        fault="the cache gives the ids of another tokenizer",
        file="seq2seq/dataset/prepare.py",
        text='            "tokenizer": tokenizer.fingerprint,\n',
        becomes="",
        tests=["tests/dataset/test_prepare_cache.py::test_a_changed_setting_renews_what_depends_on_it"],
    ),
    Mutant(
        fault="the cache gives ids without their text to a run that reads the text",
        file="seq2seq/dataset/prepare.py",
        text='            "keep_text": keep_text,\n',
        becomes="",
        tests=["tests/dataset/test_prepare_cache.py::test_a_changed_setting_renews_what_depends_on_it"],
    ),
    Mutant(
        fault="a store in the cache is opened without a look at its bytes",
        file="seq2seq/dataset/prepare.py",
        text="        store.verify(known.sha256)\n",
        becomes="",
        tests=[
            "tests/dataset/test_prepare_cache.py"
            "::test_a_flipped_bit_in_a_verified_store_is_noticed_also_with_the_old_time"
        ],
    ),
    Mutant(
        fault="validation and test sets are filtered",
        file="seq2seq/dataset/prepare.py",
        text='filters = Judge(config.data, HeldOutPairs(_held_out(splits))) if split == "train" else None',
        becomes="filters = Judge(config.data, HeldOutPairs(_held_out(splits)))",
        tests=["tests/dataset/test_prepare.py::test_everything_that_training_needs_comes_out"],
    ),
    Mutant(
        fault="a changed byte of a store is not noticed",
        file="seq2seq/dataset/store.py",
        text='if sha256 != file["sha256"]:',
        becomes='if len(sha256) != len(file["sha256"]):',
        tests=["tests/dataset/test_store.py::test_verify_notices_a_changed_byte"],
    ),
    Mutant(
        fault="a store of another tokenizer is accepted",
        file="seq2seq/dataset/store.py",
        text="if made_with != tokenizer.fingerprint:",
        becomes="if made_with is None:",
        tests=["tests/dataset/test_store.py::test_another_tokenizer_is_refused"],
    ),
    Mutant(
        fault="ids of a large vocabulary are cut to 16 bits",
        file="seq2seq/dataset/store.py",
        text='return "<u2" if tokenizer.vocab_size <= 2**16 else "<i4"',
        becomes='return "<u2"',
        tests=["tests/dataset/test_store.py::test_ids_beyond_16_bits_are_stored_whole"],
    ),
    Mutant(
        fault="filters count the tag of a source",
        file="seq2seq/dataset/encoding.py",
        text="ids = [self.encode(side) for side in lines]\n",
        becomes="ids = [self.encode(side) for side in lines]\n"
        "        ids[0], tag = [[*tag, *src] if src else src for src in ids[0]], []\n",
        tests=["tests/dataset/test_store.py::test_filters_count_the_tokens_of_the_text_alone"],
    ),
    Mutant(
        fault="a digest is remembered of a file that may still change",
        file="seq2seq/dataset/file_digests.py",
        text="started_ns - _RESOLUTION_NS",
        becomes="started_ns",
        tests=["tests/dataset/test_file_digests.py::test_a_young_file_is_read_again"],
    ),
    Mutant(
        fault="a file that was changed and dated back counts as unchanged",
        file="seq2seq/dataset/file_digests.py",
        text="status.st_mtime_ns, status.st_ctime_ns, status.st_ino]",
        becomes="status.st_mtime_ns, 0, status.st_ino]",
        tests=["tests/dataset/test_file_digests.py::test_a_changed_file_is_read_again"],
    ),
    Mutant(
        fault="the longest sentences that are allowed are left out",
        file="seq2seq/corpus/judge.py",
        text="longer > self._config.max_sentence_tokens",
        becomes="longer >= self._config.max_sentence_tokens",
        tests=["tests/corpus/test_judge.py::test_a_side_may_have_max_tokens_but_no_more"],
    ),
    Mutant(
        fault="duplicates are looked for within a block only",
        file="seq2seq/corpus/hashes.py",
        text="            is_new &= ~contained(hashes, run)\n",
        becomes="            pass\n",
        tests=["tests/corpus/test_judge.py::test_the_first_of_equal_pairs_stays"],
    ),
    Mutant(
        fault="the longer one of two files is cut",
        file="seq2seq/corpus/reader.py",
        text="enumerate(zip_longest(*readers))",
        becomes="enumerate(zip(*readers))",
        tests=["tests/corpus/test_reader.py::test_different_line_counts_are_an_error_with_both"],
    ),
    Mutant(
        fault="a line loses the white space at its end",
        file="seq2seq/corpus/reader.py",
        text='line = line.removesuffix(b"\\n").removesuffix(b"\\r")',
        becomes="line = line.rstrip()",
        tests=["tests/corpus/test_reader.py::test_lines_come_back_as_written_after_a_byte_order_mark"],
    ),
    Mutant(
        fault="a damaged block is taken for a whole one",
        file="seq2seq/dataset/encoding.py",
        text='is_whole = is_sealed(about) and about["data"] == hashlib.sha256(data).hexdigest()',
        becomes="is_whole = is_sealed(about)",
        tests=["tests/dataset/test_blocks_together.py::test_a_damaged_block_is_named_and_made_again"],
    ),
    Mutant(
        fault="a block with other pairs than it should have is used",
        file="seq2seq/dataset/block_work.py",
        text="block is not None and block.n_read == self.cuts[number].size_of(k)",
        becomes="block is not None",
        tests=["tests/dataset/test_blocks_together.py::test_a_damaged_block_is_named_and_made_again"],
    ),
    Mutant(
        fault="every second line that is looked at is blank",
        file="seq2seq/dataset/encoding.py",
        text="step = step_after(n_before + n_read)",
        becomes="step = 2 * step_after(n_before + n_read)",
        tests=["tests/dataset/test_seen.py", "tests/dataset/test_prepare.py"],
    ),
    Mutant(
        fault="duplicates of pairs in other blocks stay when blocks are joined",
        file="seq2seq/dataset/store.py",
        text="block = block if is_new.all() else block.of(is_new)",
        becomes="block = block",
        tests=["tests/dataset/test_store.py::test_filters_see_the_whole_corpus_across_blocks"],
    ),
    Mutant(
        fault="processes that make blocks outlive the one that was killed",
        file="seq2seq/dataset/block_processes.py",
        text="    threading.Thread(target=_end_with_parent, daemon=True).start()\n",
        becomes="",
        tests=[
            "tests/dataset/test_blocks_together.py::test_a_preparation_that_was_killed_goes_on_and_leaves_no_process"
        ],
    ),
    Mutant(
        fault="Ctrl-C while processes that make blocks start prints their tracebacks",
        file="seq2seq/dataset/block_processes.py",
        text="with signals_held_back():",
        becomes="with signals_held_back([]):",
        tests=[
            "tests/dataset/test_blocks_together.py::test_a_process_that_is_still_starting_leaves_signals_to_its_parent"
        ],
    ),
]
