"""Faults in serving translations."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a request gets the translations of another one",
        file="examples/serve.py",
        text="for waiting in batch:\n            waiting.translations.set_result(",
        becomes="for waiting in batch[::-1]:\n            waiting.translations.set_result(",
        tests=["tests/test_serving.py::test_requests_of_the_same_time_are_one_batch_and_each_gets_its_own"],
    ),
    Mutant(
        fault="a line too many waits",
        file="examples/serve.py",
        text="self.n_lines + len(lines) > self.limits.max_queue",
        becomes="self.n_lines > self.limits.max_queue",
        tests=["tests/test_serving.py::test_no_more_waits_than_may"],
    ),
    Mutant(
        fault="a request that fails takes others with it",
        file="examples/serve.py",
        text="if len(batch) > 1:",
        becomes="if len(batch) > 2:",
        tests=["tests/test_serving.py::test_a_request_that_fails_takes_no_other_with_it"],
    ),
    Mutant(
        fault="it translates for clients that are gone",
        file="examples/serve.py",
        text="if await waiting.request.is_disconnected():",
        becomes="if await waiting.request.is_disconnected() and False:",
        tests=["tests/test_serving.py::test_nobody_translates_for_a_client_that_is_gone"],
    ),
    Mutant(
        fault="SIGTERM ends it before what was accepted is answered",
        file="examples/serve.py",
        text="port=args.port, access_log=False)",
        becomes="port=args.port, access_log=False, timeout_graceful_shutdown=0)",
        tests=["tests/test_serving.py::test_sigterm_lets_the_server_finish_what_it_has_accepted"],
    ),
]
