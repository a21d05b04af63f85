"""The end of a W&B run, within a time that is kept."""

import threading
from contextlib import suppress

GRACE_S = 10  # for W&B to notice by itself that its time is over


def finish_within(seconds: float, exit_code: int) -> None:
    """`wandb.finish`, which waits for a server that answers with errors for longer than its own `finish_timeout`.

    Raises:
        TimeoutError: it was not done in time, and the process that serves W&B is killed. Otherwise it would hold up the
            end of Python, too.
        Exception: W&B failed.
    """
    import wandb

    errors: list[Exception] = []

    def finish() -> None:
        try:
            wandb.finish(exit_code=exit_code)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=finish, daemon=True)
    thread.start()
    thread.join(seconds + GRACE_S)
    if thread.is_alive():
        _kill_service()
        thread.join(GRACE_S)
        raise TimeoutError(f"its end took more than {seconds + GRACE_S:.0f} seconds")
    if errors:
        raise errors[0]


def _kill_service() -> None:
    import wandb

    with suppress(AttributeError):  # private, so it may be elsewhere in another version
        wandb.setup()._connection._proc._process.kill()  # type: ignore[union-attr]
