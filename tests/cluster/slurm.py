"""A SLURM of two nodes on this machine, from Debian's packages: munged, slurmctld, and a slurmd for each node.

    apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge

It needs root and no systemd, keeps all files in one folder, and takes no port that a real SLURM has.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")
NODES = ("node1", "node2")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=60
NodeName=node[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""  # a requeued job waits for `cred_expire` before it starts again


def why_not() -> str:
    """Why there can be no SLURM here; empty if there can."""
    if os.geteuid() != 0:
        return "SLURM's daemons need root"
    path = os.environ["PATH"] + os.pathsep + "/usr/sbin"
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=path)]:
        return f"there is no {', '.join(missing)}; tests/cluster/slurm.py says which packages have them"
    return ""


class Slurm:
    """Its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.env["PATH"] += os.pathsep + "/usr/sbin"

    def run(self, *words: object, timeout: float = 120) -> str:
        """What a command prints. It must not fail."""
        done = subprocess.run(
            [str(word) for word in words], env=self.env, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def submit(self, script: str) -> str:
        """The number of a job; what it prints is in `out(number)`."""
        file = self.folder / "job.sh"
        file.write_text(script)
        return self.run(
            "sbatch", "--parsable", f"--output={self.folder}/job-%A.out", "--open-mode=append", file
        ).strip()

    def out(self, job: str) -> str:
        file = self.folder / f"job-{job}.out"
        return file.read_text() if file.is_file() else ""

    def state(self, job: str) -> str:
        """The states of a job and, if it is an array, of all its parts; each once."""
        found = self.run("scontrol", "show", "job", job)
        return " ".join(sorted({word[9:] for word in found.split() if word.startswith("JobState=")}))

    def wait(self, job: str, timeout: float = 480) -> str:
        """Its state at its end."""
        end = time.monotonic() + timeout
        while (state := self.state(job)) not in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"):
            assert time.monotonic() < end, f"{state}: {self.out(job)}"
            time.sleep(0.3)
        return state


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """A SLURM that lives as long as the block. The folder needs a short path: it holds a socket."""
    found, port = Slurm(folder), _three_free_ports()
    conf = CONF.format(host=socket.gethostname(), folder=folder, port=port, first=port + 1, last=port + 2)
    folder.chmod(0o755)  # munged insists that everybody can reach its socket
    (folder / "slurm.conf").write_text(conf)
    (folder / "state").mkdir()
    munge = folder / "munge"
    munge.mkdir(mode=0o755)
    (munge / "key").write_bytes(os.urandom(128))
    (munge / "key").chmod(0o600)
    places = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    foreground = [("munged", "--foreground", *(f"--{option}={munge / name}" for option, name in places.items()))]
    foreground += [("slurmctld", "-D"), *(("slurmd", "-D", "-N", node) for node in NODES)]
    processes = []
    try:
        for words in foreground:
            processes.append(
                subprocess.Popen(words, env=found.env, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            )
            _wait_for_file(munge / "socket")
        end = time.monotonic() + 120
        while "idle" not in (nodes := found.run("sinfo", "--noheader", "--format=%T")) or "unk" in nodes:
            assert time.monotonic() < end, nodes
            time.sleep(0.2)
        yield found
        subprocess.run(["scancel", "--user=root"], env=found.env)
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for_file(file: Path) -> None:
    end = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < end, file
        time.sleep(0.05)


def _three_free_ports() -> int:
    """The first of three in a row, below those that the system gives away."""
    for port in range(26_800, 32_000, 3):
        with socket.socket() as a, socket.socket() as b, socket.socket() as c:
            try:
                for offset, probe in enumerate((a, b, c)):
                    probe.bind(("127.0.0.1", port + offset))
            except OSError:
                continue
            return port
    raise OSError("no free ports")
