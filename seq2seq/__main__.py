# PYTHON_ARGCOMPLETE_OK
"""The command line, as `python -m seq2seq`."""

from seq2seq.cli import main

if __name__ == "__main__":
    main()
