"""A small server on this machine that speaks as much of W&B's protocol as runs, files and artifacts need."""

import base64
import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

OWNER, KEY = "ann", "a" * 40


@dataclass
class Artifact:
    """One version of an artifact."""

    name: str
    type: str
    digest: str
    version: int
    aliases: list[str]
    metadata: dict[str, Any]
    made_by: str = ""  # the id of a W&B run
    manifest: dict[str, Any] = field(default_factory=dict)
    is_committed: bool = False

    @property
    def id(self) -> str:
        return f"{self.name}:v{self.version}"


@dataclass
class Run:
    """What has arrived of a W&B run."""

    fields: dict[str, Any] = field(default_factory=dict)  # of `UpsertBucket`: names, tags and the like
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None


class WandbServer(ThreadingHTTPServer):
    """Keeps what it is told.

    Attributes:
        status: of each answer; another than 200 is an error.
        received: the content of each request.
        operations: what was asked, by name.
        is_hanging: whether it accepts connections and never answers.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.status, self.is_hanging = 200, False
        self.n_requests = 0
        self.received: list[bytes] = []
        self.operations: list[str] = []
        self.runs: dict[str, Run] = {}
        self.files: dict[str, bytes] = {}  # by the path that they were sent to: RUN/NAME or ARTIFACT/NAME
        self.artifacts: list[Artifact] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """W&B closes its connections in the middle when it ends."""

    def artifact(self, name: str) -> Artifact:
        """By NAME:ALIAS or NAME:vN."""
        base, _, alias = name.rpartition(":")
        found = [a for a in self.artifacts if a.name == base and a.is_committed]
        return next(a for a in reversed(found) if alias in (*a.aliases, f"v{a.version}"))

    # --- GraphQL ---

    def answer(self, operation: str, query: str, values: dict[str, Any]) -> dict[str, Any]:
        for field_name, method in _MUTATIONS.items():
            if re.search(rf"\b{field_name}\(", query):
                return {field_name: method(self, values.get("input", values))}
        if operation == "RunResumeStatus":
            return {"model": self._resume_status(values)}
        if "viewer" in query and not values:
            teams: dict[str, Any] = {"edges": []}
            viewer = {"id": "1", "entity": OWNER, "username": OWNER, "name": OWNER, "email": "", "flags": "{}"}
            return {"viewer": {**viewer, "admin": False, "teams": teams}, "serverInfo": _SERVER_INFO}
        return self._artifact_query(query, values)

    def _upsert_bucket(self, values: dict[str, Any]) -> dict[str, Any]:
        is_new = values["name"] not in self.runs
        run = self.runs.setdefault(values["name"], Run())
        run.fields |= {key: value for key, value in values.items() if value is not None}
        run.config |= {key: each["value"] for key, each in json.loads(values.get("config") or "{}").items()}
        bucket = self._bucket(values["name"]) | {"config": values.get("config") or "{}"}
        return {"bucket": bucket, "inserted": is_new}

    def _bucket(self, run_id: str) -> dict[str, Any]:
        run = self.runs[run_id]
        project = {"id": "p", "name": run.fields.get("project", "p"), "entity": {"id": "e", "name": OWNER}}
        named = {"id": run_id, "name": run_id, "displayName": run.fields.get("displayName") or run_id}
        return {**named, "description": "", "sweepName": None, "project": project, "historyLineCount": len(run.history)}

    def _resume_status(self, values: dict[str, Any]) -> dict[str, Any]:
        if (run := self.runs.get(values["name"])) is None:
            return {"id": "p", "name": values["project"], "entity": {"id": "e", "name": OWNER}, "bucket": None}
        tail = [json.dumps(row) for row in run.history[-1:]]
        config = {key: {"value": value} for key, value in run.config.items()}
        bucket = {
            **self._bucket(values["name"]),
            "summaryMetrics": json.dumps(run.summary),
            "logLineCount": 0,
            "eventsLineCount": 0,
            "historyTail": json.dumps(tail),
            "eventsTail": "[]",
            "config": json.dumps(config),
            "tags": run.fields.get("tags", []),
            "wandbConfig": json.dumps({"t": 1}),
        }
        return {"id": "p", "name": values["project"], "entity": {"id": "e", "name": OWNER}, "bucket": bucket}

    def _create_run_files(self, values: dict[str, Any]) -> dict[str, Any]:
        files = [{"name": name, "uploadUrl": f"{self.url}/{values['run']}/{name}"} for name in values["files"]]
        return {"runID": values["run"], "uploadHeaders": [], "files": files}

    def _create_artifact(self, values: dict[str, Any]) -> dict[str, Any]:
        name = values["artifactCollectionName"]
        same = [a for a in self.artifacts if a.name == name and a.digest == values["digest"]]
        if not same:
            artifact = Artifact(
                name=name,
                type=values["artifactTypeName"],
                digest=values["digest"],
                version=sum(a.name == name for a in self.artifacts),
                aliases=[each["alias"] for each in values.get("aliases") or []],
                metadata=json.loads(values.get("metadata") or "{}"),
                made_by=values.get("runName") or "",
            )
            self.artifacts.append(artifact)
        artifact = same[0] if same else self.artifacts[-1]
        state = "COMMITTED" if artifact.is_committed else "PENDING"
        return {
            "artifact": {"id": artifact.id, "state": state, "artifactSequence": {"id": name, "latestArtifact": None}}
        }

    def _create_artifact_manifest(self, values: dict[str, Any]) -> dict[str, Any]:
        artifact = values["artifactID"]
        url = f"{self.url}/manifest/{artifact}"
        file = {"id": "f", "name": "m", "displayName": "m", "uploadUrl": url, "uploadHeaders": []}
        return {"artifactManifest": {"id": f"m-{artifact}", "file": file}}

    def _create_artifact_files(self, values: dict[str, Any]) -> dict[str, Any]:
        edges = []
        for spec in values["artifactFiles"]:
            url = f"{self.url}/{spec['artifactID']}/{spec['name']}"
            node = {"id": "f", "name": spec["name"], "displayName": spec["name"], "uploadUrl": url}
            node |= {"uploadHeaders": [], "artifact": {"id": spec["artifactID"]}, "storagePath": spec["name"]}
            edges.append({"node": {**node, "uploadMultipartUrls": None}})
        return {"files": {"edges": edges}}

    def _commit_artifact(self, values: dict[str, Any]) -> dict[str, Any]:
        artifact = next(a for a in self.artifacts if a.id == values["artifactID"])
        artifact.is_committed = True
        artifact.manifest = json.loads(self.files[f"manifest/{artifact.id}"])
        return {"artifact": {"id": artifact.id, "digest": artifact.digest}}

    def _artifact_query(self, query: str, values: dict[str, Any]) -> dict[str, Any]:
        if "currentManifest" in query:
            return {"artifact": {"currentManifest": {"file": {"directUrl": f"{self.url}/manifest/{values['id']}"}}}}
        if "artifactMembership(" in query:
            artifact = self.artifact(f"{values['collection']}:{values['alias']}")
            urls = [(name, f"{self.url}/{artifact.id}/{name}") for name in artifact.manifest["contents"]]
            nodes = [{"node": {"__typename": "File", "name": name, "directUrl": url}} for name, url in urls]
            files = {"pageInfo": {"__typename": "PageInfo", "endCursor": None, "hasNextPage": False}, "edges": nodes}
            collection = {"__typename": "ArtifactSequence", "artifactMembership": {"files": files}}
            return {"project": {"artifactCollection": collection}}
        if "name" not in values:
            return {}
        try:
            artifact = self.artifact(values["name"])
        except StopIteration:
            return {"project": {"artifact": None, "artifactCollectionMembership": None}}
        if "artifactCollectionMembership(" in query:
            return {"project": {"artifactCollectionMembership": self._membership(artifact)}}
        return {"project": {"artifact": {"artifactType": {"name": artifact.type}}}}

    def _membership(self, artifact: Artifact) -> dict[str, Any]:
        project = {"id": "p", "internalId": "p", "name": "seq2seq", "entity": {"name": OWNER}}
        collection = {"__typename": "ArtifactSequence", "name": artifact.name, "project": project}
        common = {"versionIndex": artifact.version, "createdAt": "2026-01-01T00:00:00Z"}
        found = {
            **common,
            "__typename": "Artifact",
            "id": artifact.id,
            "artifactSequence": collection,
            "artifactType": {"name": artifact.type},
            "description": None,
            "metadata": json.dumps(artifact.metadata),
            "ttlDurationSeconds": -1,
            "ttlIsInherited": True,
            "tags": [],
            "historyStep": None,
            "state": "COMMITTED",
            "size": 1,
            "digest": artifact.digest,
            "commitHash": "c",
            "fileCount": len(artifact.manifest["contents"]),
            "updatedAt": None,
            "aliases": [],
        }
        membership = {"__typename": "ArtifactCollectionMembership", "id": "m", "aliases": [], **common}
        return {**membership, "artifactCollection": collection, "artifact": found}

    # --- history, summary, files ---

    def stream(self, run_id: str, content: dict[str, Any]) -> None:
        run = self.runs.setdefault(run_id, Run())
        for name, chunk in (content.get("files") or {}).items():
            rows = [json.loads(row) for row in chunk["content"]]
            if name == "wandb-history.jsonl":
                run.history[chunk["offset"] :] = rows
            elif name == "wandb-summary.json":
                run.summary |= rows[-1]
        if content.get("complete"):
            run.exit_code = content["exitcode"]


_MUTATIONS: dict[str, Callable[[WandbServer, dict[str, Any]], dict[str, Any]]] = {
    "upsertBucket": WandbServer._upsert_bucket,
    "createRunFiles": WandbServer._create_run_files,
    "createArtifact": WandbServer._create_artifact,
    "createArtifactManifest": WandbServer._create_artifact_manifest,
    "createArtifactFiles": WandbServer._create_artifact_files,
    "commitArtifact": WandbServer._commit_artifact,
}
_SERVER_INFO: dict[str, Any] = {
    "cliVersionInfo": {"max_cli_version": "9.9.9", "min_cli_version": "0.1.0"},
    "latestLocalVersionInfo": None,
    "features": [],
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WandbServer

    def do_POST(self) -> None:
        content = self._read()
        if self.server.status != 200:
            self._answer({"errors": [{"message": "as the test wants it"}]}, self.server.status)
        elif self.path == "/graphql":
            if self.headers["Authorization"] != f"Basic {base64.b64encode(f'api:{KEY}'.encode()).decode()}":
                self._answer({"errors": [{"message": "no such key"}]}, 401)
                return
            asked = json.loads(content)
            self.server.operations.append(asked.get("operationName") or asked["query"].split("(")[0].split()[-1])
            reply = self.server.answer(asked.get("operationName") or "", asked["query"], asked.get("variables") or {})
            self._answer({"data": reply})
        elif self.path.endswith("/file_stream"):
            self.server.stream(self.path.split("/")[-2], json.loads(content))
            self._answer({})
        else:
            self._answer({})

    def do_PUT(self) -> None:
        self.server.files[self.path.lstrip("/")] = self._read()
        self._answer({})

    def do_GET(self) -> None:
        self._read()
        content = self.server.files.get(self.path.lstrip("/"))
        self._answer(content or b"", 200 if content is not None else 404)

    def _read(self) -> bytes:
        self.server.n_requests += 1
        while self.server.is_hanging:
            time.sleep(0.05)
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = gzip.decompress(content) if self.headers.get("Content-Encoding") == "gzip" else content
        self.server.received.append(content)
        return content

    def _answer(self, content: Any, status: int = 200) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


def answered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions to a server are asked in this process: one of its own takes a second to start."""
    from seq2seq.artifacts import wandb_access
    from seq2seq.artifacts.wandb_questions import answer_or_error

    monkeypatch.setattr(wandb_access, "_ask", lambda question, *words, timeout_s: answer_or_error(question, *words))


@contextmanager
def wandb_server() -> Iterator[WandbServer]:
    with WandbServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.is_hanging = False
            server.shutdown()
            thread.join()
