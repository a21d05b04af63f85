# PYTHON_ARGCOMPLETE_OK
"""Translate text:  python translate.py --model RUN_DIR < input.fr > output.en"""

from seq2seq.cli import front_door

if __name__ == "__main__":
    front_door("translate", prog="translate.py")
