"""Policies: act and the server give the actions that the command-line program writes, bit for bit."""

from __future__ import annotations

import asyncio
import pathlib
import pickle
import subprocess
import time
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import pytest

from loader_data import G1, binary
from recording_data import archive, same
from robocache import ArgumentError, Policy, PolicyError, Recording
from robocache import _child

EPISODE = 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return _train(tmp_path_factory.mktemp("policy"), "--steps", "20")


def _train(out: pathlib.Path, *options: str) -> pathlib.Path:
    train = [binary(), "train", str(G1), "--hold-out", str(EPISODE), *options, "--backend", "cpu", "--out", str(out / "trained")]
    subprocess.run(train, check=True, capture_output=True)
    run = [binary(), "policy", str(out / "trained"), str(G1), "--episode", str(EPISODE), "--backend", "cpu", "-o", str(out / "made.npz")]
    subprocess.run(run, check=True, capture_output=True)
    return out


Window = Tuple[Dict[str, np.ndarray], np.ndarray]


def windows(trained: pathlib.Path, history: int, every: int = 7) -> Iterator[Window]:
    """The streams up to some ticks, and the actions that the program writes for them."""
    made = archive(trained / "made.npz")
    with Recording(G1) as rec:
        state, action = (rec[EPISODE][name].values for name in ("observation.state", "action"))
    for t, chunk in list(zip(made["ticks"].tolist(), made["chunks"]))[::every]:
        lo = max(0, t + 1 - history)
        yield {"observation.state": state[lo : t + 1], "action": action[max(0, t - history) : t]}, chunk


def test_act_gives_what_the_program_writes(trained: pathlib.Path) -> None:
    with Policy(trained / "trained") as policy:
        assert (policy.history, policy.chunk, policy.execute, policy.hz, policy.action) == (5, 30, 30, 30.0, "action")
        assert len(policy.states["observation.state"]) == 26 and len(policy.columns) == 26
        count = 0
        for streams, chunk in windows(trained, policy.history):
            got = policy.act(streams)
            assert same(got, chunk)
            got[:] = 0  # the caller's own
            count += 1
        assert count > 20
        one, chunk = next(windows(trained, policy.history))
        assert same(policy.act({name: x.tolist() for name, x in one.items()}), chunk)
        assert same(policy.act({name: np.asfortranarray(x.astype(">f8")) for name, x in one.items()}), chunk)
        more, chunk = list(windows(trained, 9))[5]
        assert same(policy.act(more), chunk), "of more rows the last are used"
        more["observation.state"][:-5] = np.nan
        assert same(policy.act(more), chunk)
        again = pickle.loads(pickle.dumps(policy))
        assert same(again.act(more), chunk)
        _child.shared().close()
        assert same(policy.act(more), chunk), "in another helper process"
        assert repr(policy) == "<Policy {}: observation.state to 30 of action>".format(trained / "trained")
    policy.close()
    with pytest.raises(PolicyError, match="was closed"):
        policy.act(more)


def test_a_sampled_policy_acts(tmp_path: pathlib.Path) -> None:
    _train(tmp_path, "--policy", "flow", "--size", "tiny", "--sample-steps", "2", "--steps", "2", "--batch", "4", "--state", "observation.state")
    with Policy(tmp_path / "trained") as policy:
        assert (policy.history, policy.chunk, policy.execute) == (2, 16, 8)
        for streams, chunk in windows(tmp_path, policy.history):
            assert same(policy.act(streams), chunk)
            assert same(policy.act({"observation.state": streams["observation.state"]}), chunk), "it does not read actions"


def test_act_takes_and_gives_torch(trained: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    with Policy(trained / "trained", framework="torch") as policy:
        streams, chunk = next(windows(trained, policy.history))
        got = policy.act({name: torch.tensor(x, requires_grad=True) for name, x in streams.items()})
        assert got.dtype == torch.float64 and same(got.numpy(), chunk)


def test_errors_name_the_stream(trained: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(PolicyError) as info:
        Policy(tmp_path)
    assert info.value.path == str(tmp_path) and "robocache train" in str(info.value)
    with Policy(trained / "trained") as policy:
        streams, chunk = next(windows(trained, policy.history))
        for name, x in [
            ("stat", np.zeros((1, 26))),
            ("observation.state", np.zeros((1, 25))),
            ("observation.state", np.zeros(26)),
            ("action", np.full((1, 26), np.inf)),
        ]:
            with pytest.raises(PolicyError) as info:
                policy.act({**streams, name: x})
            assert info.value.stream == name and info.value.path == policy.path
        with pytest.raises(PolicyError, match="no action"):
            policy.act({"observation.state": streams["observation.state"]})
        for bad in ("text", [[1.0], [1.0, 2.0]], np.zeros((1, 26), complex)):
            with pytest.raises(ArgumentError):
                policy.act({**streams, "action": bad})
        assert same(policy.act(streams), chunk)


def _serve(trained: pathlib.Path, client: Callable[[str], Any], *args: str) -> float:
    """Runs a client of a server, and returns the seconds from the start of the program to the end of the client."""
    begin = time.monotonic()
    command = [binary(), "policy", "serve", str(trained / "trained"), "--port", "0", "--backend", "cpu", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            asyncio.run(client(server.stdout.readline().strip()))
            took = time.monotonic() - begin
        finally:
            server.terminate()
        assert server.wait(20) == 0
    return took


def _pack(x: Any) -> Any:
    # As openpi's client packs arrays.
    return {b"__ndarray__": True, b"data": x.tobytes(), b"dtype": x.dtype.str, b"shape": x.shape} if isinstance(x, np.ndarray) else x


def _unpack(x: Any) -> Any:
    return np.ndarray(buffer=x[b"data"], dtype=np.dtype(x[b"dtype"]), shape=x[b"shape"]) if b"__ndarray__" in x else x


def test_another_client_gets_the_actions_from_the_server(trained: pathlib.Path) -> None:
    msgpack, websockets = pytest.importorskip("msgpack"), pytest.importorskip("websockets")
    asked: List[Window] = list(windows(trained, 5))

    async def first(url: str) -> None:
        async with websockets.connect(url, compression=None, max_size=None) as ws:
            about = msgpack.unpackb(await ws.recv(), object_hook=_unpack)
            assert about["states"][0]["name"] == "observation.state" and about["chunk"] == 30
            for streams, chunk in asked[: 1 if len(took) == 0 else None]:
                await ws.send(msgpack.packb(streams, default=_pack))
                reply = msgpack.unpackb(await ws.recv(), object_hook=_unpack)
                assert same(reply["actions"], chunk)
                assert reply["server_timing"]["infer_ms"] > 0
            if len(took) > 0:
                await ws.send(msgpack.packb({"stat": asked[0][0]["action"]}, default=_pack))
                text = await ws.recv()
                assert isinstance(text, str) and "stream stat" in text
                with pytest.raises(websockets.exceptions.ConnectionClosedError):
                    await ws.recv()
        web = url.replace("ws:", "http:")
        assert urllib.request.urlopen(web + "/healthz").read() == b"OK\n"
        assert b"robocache_policy_errors_total" in urllib.request.urlopen(web + "/metrics").read()

    took: List[float] = []
    took.append(_serve(trained, first))
    took.append(_serve(trained, first))
    print("first action after {:.2f} s".format(took[0]))


def test_a_server_with_a_token_and_a_certificate(trained: pathlib.Path, tmp_path: pathlib.Path) -> None:
    msgpack, websockets = pytest.importorskip("msgpack"), pytest.importorskip("websockets")
    import shutil
    import ssl

    if shutil.which("openssl") is None:
        pytest.skip("no openssl, a program in PATH")
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(make + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=cert)
    streams, chunk = next(windows(trained, 5))

    async def client(url: str) -> None:
        assert url.startswith("wss://127.0.0.1:")
        for token, good in (("other", False), ("secret", True)):
            header = {"Authorization": "Api-Key " + token}
            try:
                async with websockets.connect(url, ssl=context, extra_headers=header) as ws:
                    await ws.recv()
                    await ws.send(msgpack.packb(streams, default=_pack))
                    assert good and same(msgpack.unpackb(await ws.recv(), object_hook=_unpack)["actions"], chunk)
            except websockets.exceptions.InvalidStatusCode as e:
                assert not good and e.status_code == 401

    _serve(trained, client, "--token", "secret", "--tls-cert", cert, "--tls-key", key)
