"""Train a translation model:  python train.py experiment=multi30k data.dir=PATH"""

from seq2seq.cli import front_door

if __name__ == "__main__":
    front_door("train")
