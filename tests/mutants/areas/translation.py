"""Faults in translating files: order, parts of lines, scores, warnings, what is resumed."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="the latest line that was read comes out first",
        file="seq2seq/translation/in_order.py",
        text="line = self._held.popleft()",
        becomes="line = self._held.pop()",
        tests=["tests/translation/test_in_order.py::test_each_line_comes_once_in_its_place_with_its_results"],
    ),
    Mutant(
        fault="the parts of a line are joined in the order in which they were found",
        file="seq2seq/translation/in_order.py",
        text="line.results[index] = result",
        becomes="line.results[len(line.results)] = result",
        tests=["tests/translation/test_in_order.py::test_each_line_comes_once_in_its_place_with_its_results"],
    ),
    Mutant(
        fault="the lines before an error of the input are lost",
        file="seq2seq/translation/in_order.py",
        text="            self._problem = error",
        becomes="            raise error",
        tests=["tests/translation/test_in_order.py::test_an_error_of_the_input_comes_after_the_lines_before_it"],
    ),
    Mutant(
        fault="a batch has one sentence more than fits",
        file="seq2seq/translation/pool.py",
        text="return ranges[round_down(len(ranges)) - 1]",
        becomes="return begin, end",
        tests=["tests/translation/test_pool.py::test_each_sentence_leaves_once_in_a_batch_that_fits"],
    ),
    Mutant(
        fault="a blank line reaches the model",
        file="seq2seq/translation/line_parts.py",
        text="        if not ids:\n            return [], []\n",
        becomes="",
        tests=["tests/translation/test_translator.py::test_blank_lines_stay_blank_and_do_not_reach_the_model"],
    ),
    Mutant(
        fault="lines are never split into sentences",
        file="seq2seq/translation/line_parts.py",
        text="is_whole = self.max_sentences is None or n_sentences(text) <= self.max_sentences",
        becomes="is_whole = True",
        tests=["tests/translation/test_translator_splitting.py::test_never_splitting_leaves_the_line_to_the_model"],
    ),
    Mutant(
        fault="the parts of a line are joined without the white space between them",
        file="seq2seq/translation/text/splitting.py",
        text='joined.append(part.before.translate(LINE_ENDS) or ("" if is_word else " "))',
        becomes='joined.append("" if is_word else " ")',
        tests=["tests/translation/text/test_splitting.py::test_the_white_space_of_a_line_stays"],
    ),
    Mutant(
        fault="each part of a line counts the same in its score",
        file="seq2seq/translation/line_parts.py",
        text="share = weight / total",
        becomes="share = weight / (weight * len(found))",
        tests=["tests/translation/test_line_parts.py::test_the_best_combinations_are_those_that_trying_all_finds"],
    ),
    Mutant(
        fault="alternatives with a part that was cut come before whole ones",
        file="seq2seq/translation/line_parts.py",
        text="key=lambda each: each[:2]",
        becomes="key=lambda each: each[1]",
        tests=["tests/translation/test_line_parts.py::test_the_best_combinations_are_those_that_trying_all_finds"],
    ),
    Mutant(
        fault="the log-probability of a line is that of its first part",
        file="seq2seq/translation/stream.py",
        text="sum(hypothesis.log_prob for hypothesis in chosen),",
        becomes="chosen[0].log_prob,",
        tests=[
            "tests/translation/test_translator_splitting.py"
            "::test_the_tokens_of_a_split_line_are_those_of_all_its_sentences"
        ],
    ),
    Mutant(
        fault="nobody hears that a translation was cut off",
        file="seq2seq/translation/stream.py",
        text="if best.n_cut:",
        becomes="if best.n_cut > len(found):",
        tests=["tests/translation/test_translator.py::test_translations_that_were_cut_or_are_empty_are_marked"],
    ),
    Mutant(
        fault="nobody hears that a translation goes round in circles",
        file="seq2seq/translation/text/health.py",
        text="if loop is not None and find_loop(source) is None:",
        becomes="if loop is not None and find_loop(source) is not None:",
        tests=["tests/translation/text/test_health.py::test_findings"],
    ),
    Mutant(
        fault="a repetition has to come once more to be noticed",
        file="seq2seq/analysis/loops.py",
        text="n_times = longest // size + 1",
        becomes="n_times = longest // size",
        tests=["tests/translation/text/test_health.py::test_a_loop_is_found_from_a_number_of_repetitions_on"],
    ),
    Mutant(
        fault="each translation agrees with itself, too",
        file="seq2seq/translation/searching.py",
        text="np.array(list(times.values())) - np.eye(len(times))",
        becomes="np.array(list(times.values())) - 0 * np.eye(len(times))",
        tests=["tests/translation/test_searching.py::test_it_is_the_mean_over_all_others"],
    ),
    Mutant(
        fault="each part of a line begins with its prefix",
        file="seq2seq/translation/stream.py",
        text="*[[]] * (len(parts) - 1)]",
        becomes="*[self._prefix(own_prefix, number)] * (len(parts) - 1)]",
        tests=["tests/translation/test_translator_splitting.py"],
    ),
    Mutant(
        fault="a misspelt option is not named with the nearest one",
        file="seq2seq/options.py",
        text='if unknown and "arguments" in message:',
        becomes='if unknown and "arguments" not in message:',
        tests=["tests/commands/test_translate_options.py::test_a_misspelt_option_is_named_with_the_nearest"],
    ),
    Mutant(
        fault="--help shows all options",
        file="seq2seq/options.py",
        text="isinstance(parser, Parser) and not option.is_common",
        becomes="isinstance(parser, Parser) and not option.help",
        tests=[
            "tests/commands/test_translate_options.py::test_help_shows_twenty_options_and_help_all_the_rest",
        ],
    ),
    Mutant(
        fault="options of the search are taken with given translations",
        file="seq2seq/commands/translate.py",
        text='if option.is_for_search and "score" in given:',
        becomes='if option.is_for_search and "scores" in given:',
        tests=["tests/commands/test_translate_scores.py::test_options_of_the_search_have_no_meaning_in_scoring"],
    ),
    Mutant(
        fault="a batch has sentences of two blocks",
        file="seq2seq/translation/in_order.py",
        text="if line.block != self._block:",
        becomes="if line.block < self._block:",
        tests=["tests/translation/test_in_order.py::test_the_batches_of_a_block_depend_on_nothing_else"],
    ),
    Mutant(
        fault="what is left of a block before is counted into the next one",
        file="seq2seq/translation/blocks.py",
        text="n_inside, block = 0, block + 1",
        becomes="n_inside, block = n_inside - size, block + 1",
        tests=["tests/translation/test_blocks.py::test_who_begins_at_a_block_cuts_as_who_begins_at_the_text"],
    ),
    Mutant(
        fault="a part ends inside a block",
        file="seq2seq/translation/sharing/plan.py",
        text="n_inside += unit.ends_block",
        becomes="n_inside += 1",
        tests=["tests/translation/test_blocks.py::test_parts_are_runs_of_whole_blocks_that_have_each_line_once"],
    ),
    Mutant(
        fault="a shard takes the parts of its neighbour",
        file="seq2seq/translation/sharing/run.py",
        text="if index % n_shards == number - 1]",
        becomes="if index % n_shards == number % n_shards]",
        tests=[
            "tests/commands/test_translate_shards.py::test_nothing_is_joined_while_a_part_is_missing_and_its_command_is_shown"
        ],
    ),
    Mutant(
        fault="a part that another process has just made is made again",
        file="seq2seq/translation/sharing/share.py",
        text="        if not self._folder.fault(self._plan, index):  # another process has just made it\n",
        becomes="        if False:\n",
        tests=["tests/commands/test_translate_shards.py::test_a_part_that_was_made_meanwhile_is_not_made_again"],
    ),
    Mutant(
        fault="text that has changed is translated all the same",
        file="seq2seq/translation/sharing/share.py",
        text="if part.file.digests != (planned.source_sha256, planned.parallel_sha256):",
        becomes="if False:",
        tests=["tests/commands/test_translate_shards.py::test_another_input_is_refused_and_so_are_other_settings"],
    ),
    Mutant(
        fault="a part is confirmed inside a block, so that who continues it has other batches",
        file="seq2seq/translation/sharing/share.py",
        text="if self._block_ends.popleft() or not part.n_left:",
        becomes="self._block_ends.popleft()\n        if True:",
        tests=["tests/commands/test_translate_shards.py::test_a_part_is_confirmed_at_the_end_of_a_block"],
    ),
    Mutant(
        fault="a part that was changed is joined",
        file="seq2seq/translation/sharing/join.py",
        text="if part.hexdigest() != Progress(",
        becomes="if part.hexdigest() and not Progress(",
        tests=[
            "tests/commands/test_translate_shards.py::test_a_part_that_is_damaged_or_foreign_is_named_and_made_again"
        ],
    ),
    Mutant(
        fault="the first process leaves what a killed one has not made",
        file="seq2seq/translation/sharing/run.py",
        text="                if folder.fault(plan, index):\n                    return True",
        becomes="                if folder.fault(plan, index):\n                    return False",
        tests=[
            "tests/translation/sharing/test_ranks.py::test_the_first_process_waits_for_a_part_and_makes_it_when_nobody_else_does"
        ],
    ),
    Mutant(
        fault="what was written after the last checkpoint stays, and comes twice",
        file="seq2seq/translation/resumable.py",
        text="        file.truncate(earlier.n_bytes)",
        becomes="        file.seek(earlier.n_bytes)",
        tests=["tests/translation/test_output_interruptions.py::test_lines_that_were_not_translated_yet_may_change"],
    ),
    Mutant(
        fault="a resumed translation writes over its beginning",
        file="seq2seq/translation/resumable.py",
        text="        file.seek(earlier.n_bytes)\n",
        becomes="",
        tests=["tests/translation/test_output_interruptions.py::test_what_was_confirmed_stays_and_is_continued"],
    ),
    Mutant(
        fault="a resumed translation leaves out one line more than it has",
        file="seq2seq/translation/resumable.py",
        text="for line in islice(lines, self.n_lines_done):",
        becomes="for line in islice(lines, self.n_lines_done + 1):",
        tests=["tests/translation/test_output_interruptions.py::test_what_was_confirmed_stays_and_is_continued"],
    ),
    Mutant(
        fault="a translation is continued with other settings",
        file="seq2seq/translation/resumable.py",
        text="        if old.get(key) != new.get(key)\n",
        becomes="        if key not in new\n",
        tests=["tests/translation/test_output_interruptions.py::test_other_settings_are_named_with_both_values"],
    ),
    Mutant(
        fault="a resumed translation counts its lines from the first one again",
        file="seq2seq/translation/work.py",
        text="self._live(output.skip_done(request.placed_lines(replaced, self._block_size), _unit))",
        becomes="self._live(map(lambda n, each: Placed(each.unit, n, n, 0, False), range(10**9), "
        "output.skip_done(request.placed_lines(replaced, self._block_size), _unit)))",
        tests=["tests/end_to_end/test_translate_resumed.py::test_a_resumed_file_is_that_of_an_unbroken_run"],
    ),
    Mutant(
        fault="the results of a half of a half are put at the wrong place",
        file="seq2seq/translation/engines/workers/supervisor.py",
        text="items, job.args, job.begin + begin))",
        becomes="items, job.args, begin))",
        tests=[
            "tests/translation/engines/test_workers.py::test_a_batch_that_does_not_fit_into_memory_is_done_in_halves"
        ],
    ),
    Mutant(
        fault="a URL loses a bracket that it has opened itself",
        file="seq2seq/translation/text/kept.py",
        text="n_of[last] > n_of[_BRACKETS[last]]",
        becomes="n_of[last] >= n_of[_BRACKETS[last]]",
        tests=[
            "tests/translation/text/test_kept.py::test_urls_and_addresses_are_found_without_the_marks_of_the_sentence"
        ],
    ),
    Mutant(
        fault="a paragraph that is indented is wrapped to shorter lines than it had",
        file="seq2seq/translation/forms/document.py",
        text="max(len(line.indent) + len(line.rest) for line in paragraph)",
        becomes="max(len(line.rest) for line in paragraph)",
        tests=["tests/translation/forms/test_document.py::test_all_but_the_text_stays"],
    ),
    Mutant(
        fault="each thing in a line counts all the punctuation between it and the word before it",
        file="seq2seq/translation/text/putting_back.py",
        text="self._text[src_end : min(place, src_end + _MOST_MARKS)]",
        becomes="self._text[src_end:place]",
        tests=["tests/translation/text/test_putting_back.py::test_the_time_is_proportional_to_the_length_of_the_line"],
    ),
    Mutant(
        fault="Ctrl-C while Python ends prints a traceback",
        file="seq2seq/exit_status.py",
        text="signal.SIG_DFL if is_program else handler",
        becomes="handler",
        tests=["tests/test_exit_status.py::test_ctrl_c_while_python_ends_is_no_traceback"],
    ),
    Mutant(
        fault="lines of a subtitle that form a tag together are a traceback",
        file="seq2seq/translation/forms/subtitles.py",
        text='if not has_words(_IS_TAG.sub("", joined)):',
        becomes="if False:",
        tests=["tests/translation/forms/test_subtitles.py::test_lines_that_form_a_tag_together_have_no_text"],
    ),
    Mutant(
        fault="None among the lines of a program is passed over, and there are fewer translations than lines",
        file="seq2seq/translation/translator.py",
        text='strings(lines, "lines"), decoding, options',
        becomes="lines, decoding, options",
        tests=["tests/translation/test_translator.py::test_there_are_as_many_translations_as_lines"],
    ),
    Mutant(
        fault="a report replaces a checkpoint of a model",
        file="seq2seq/commands/report.py",
        text="        check_file(output, [])\n",
        becomes="        pass\n",
        tests=["tests/commands/test_outputs.py::test_nothing_that_is_needed_is_replaced"],
    ),
    Mutant(
        fault="plain text is written under the name of compressed text",
        file="seq2seq/translation/destination.py",
        text="if output.suffix in COMPRESSIONS:",
        becomes="if False:",
        tests=["tests/commands/test_outputs.py::test_nothing_that_is_needed_is_replaced"],
    ),
    Mutant(
        fault="an n-best list has a text twice",
        file="seq2seq/translation/stream.py",
        text="distinct.setdefault(hypothesis.text, hypothesis)",
        becomes="distinct[hypothesis.text + str(len(distinct))] = hypothesis",
        tests=["tests/translation/test_translator.py::test_no_text_comes_twice_and_further_ones_take_its_place"],
    ),
]
