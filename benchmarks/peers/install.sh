#!/bin/sh
# Make the environments for train_speed.py --peers HOME and translate_speed.py --peers-python HOME/hf/bin/python:
#
#     benchmarks/peers/install.sh HOME hf eole fairseq joeynmt
#
# HOME/NAME is a virtual environment of its own. $PYTHON makes it (python3 if that is not set), with the versions that the
# benchmarks were written for. An environment that is there already is kept and completed. Some requirements are left out
# on purpose, for the reasons below, and pip says so.
set -eu

TORCH=torch==2.13.0
SENTENCEPIECE=sentencepiece==0.2.3
SACREBLEU=sacrebleu==2.6.0

install_hf() {
    pip install "$TORCH"
    pip install transformers==5.23.0 accelerate==1.15.0 "$SENTENCEPIECE" "$SACREBLEU"
}

# --no-deps: eole asks for packages for sound and for finding out languages. aiohttp is missing among its requirements.
install_eole() {
    pip install "$TORCH"
    pip install --no-deps eole==0.6.4
    pip install aiohttp configargparse ctranslate2==4.8.5 datasets fastapi huggingface_hub numpy pandas protobuf \
        pyahocorasick pydantic pyonmttok pyyaml rapidfuzz rich "$SACREBLEU" safetensors "$SENTENCEPIECE" six spacy \
        subword-nmt tensorboard tokenizers torch-optimi uvicorn waitress
}

# A toolkit of 2022 among the packages of today.
install_fairseq() {
    pip install "pip<24.1"  # later ones refuse the metadata of omegaconf 2.0
    pip install "$TORCH"
    pip install "numpy<2" wheel "cython<3"
    pip install --no-deps "setuptools<70"
    if ! pip show fairseq >/dev/null 2>&1; then
        # The source distribution lacks a file of its torch extensions, which a Transformer does not need: without them.
        sources=$(mktemp -d)
        pip download --no-deps --no-binary :all: --no-build-isolation -d "$sources" fairseq==0.12.2
        tar -xzf "$sources/fairseq-0.12.2.tar.gz" -C "$sources"
        sed -i 's/from torch.utils import cpp_extension/raise ImportError/' "$sources/fairseq-0.12.2/setup.py"
        pip install --no-deps --no-build-isolation "$sources/fairseq-0.12.2"
        rm -r "$sources"
    fi
    pip install --no-deps omegaconf==2.0.6 hydra-core==1.0.7 antlr4-python3-runtime==4.8
    pip install --no-deps bitarray cffi editdistance pyyaml regex "$SACREBLEU" scikit-learn "$SENTENCEPIECE" torchaudio tqdm
    pip install colorama lxml portalocker tabulate typing_extensions
}

# --no-deps: JoeyNMT asks for protobuf below 3.21. importlib_metadata is missing among its requirements.
install_joeynmt() {
    pip install "$TORCH"
    pip install --no-deps joeynmt==2.3.0
    pip install datasets importlib_metadata matplotlib numpy==2.4.6 packaging pandas pillow plotly protobuf pyyaml \
        sacremoses "$SACREBLEU" seaborn "$SENTENCEPIECE" setuptools six subword-nmt tensorboard wrapt
}

pip() {
    "$BIN/python" -m pip -q --disable-pip-version-check "$@"
}

if [ $# -lt 2 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
home=$1
shift
for name; do
    case $name in
        hf | eole | fairseq | joeynmt) ;;
        *) echo "there is no peer '$name'; choose of hf, eole, fairseq, joeynmt" >&2; exit 2 ;;
    esac
    BIN=$home/$name/bin
    [ -x "$BIN/python" ] || "${PYTHON:-python3}" -m venv "$home/$name"
    "install_$name"
    echo "$home/$name is ready" >&2
done
