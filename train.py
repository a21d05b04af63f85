"""Train a translation model:  python train.py experiment=multi30k data.dir=PATH"""

from seq2seq.commands.train import main

if __name__ == "__main__":
    main()
