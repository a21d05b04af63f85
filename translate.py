"""Translate text:  python translate.py --model RUN_DIR < input.fr > output.en"""

from seq2seq.commands.translate import main

if __name__ == "__main__":
    main()
