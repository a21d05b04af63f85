# PYTHON_ARGCOMPLETE_OK
from seq2seq.cli import main

if __name__ == "__main__":
    main()
