"""`warpgym runs export` of a run that a Tinker server trained, and what stays on the server."""

import io
import json
import tarfile

import pytest
import support
from fake_tinker import KEY, FakeTinker
from test_train_tinker import train, world  # noqa: F401 (a fixture)

LAST = "step-000006"


@pytest.fixture(scope="module", params=[False, True], ids=["tinker", "skyrl"])
def trained(request, module_warpgym, world, tmp_path_factory):  # noqa: F811
    """A server, and the directory of a run on it."""
    folder = tmp_path_factory.mktemp("trained")
    model = world.parent / "base" / "model"
    with FakeTinker(model, folder / "service", request.param, key=KEY) as server:
        process = train(module_warpgym, server, world, folder / "run", "train.clip=0")
        module_warpgym.finish(process, expect=support.PASSED)
        yield server, folder / "run"


def export(warpgym, run, out, *more, key=KEY):
    return warpgym("runs", "export", run, out, *more, environment={"TINKER_API_KEY": key})


def test_an_adapter_that_the_engine_reads(warpgym, trained, world, tmp_path):  # noqa: F811
    """It is the one that was trained: its own answers are likelier than the base model's."""
    server, run = trained
    out = tmp_path / "adapter"
    assert export(warpgym, run, out, "--checkpoint", "last").status == support.PASSED
    names = {path.name for path in out.iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= names
    assert json.loads((out / "adapter_config.json").read_text())["target_modules"]
    base = world.parent / "base" / "model"
    warpgym.ok("lm", "convert", base, tmp_path / "merged", "--merge", out)


def test_what_stays(trained):
    """Two checkpoints and the best one, each with its archive; of samplers nothing."""
    server, run = trained
    names = sorted(path.rsplit("/", 1)[1] for path in server.held())
    assert sorted(server.copies()) == names and LAST in names and len(names) <= 3


def archive(*entries):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as out:
        for name, data, kind in entries:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(data), kind, "/etc/passwd"
            out.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE
BAD = {
    "no adapter": (archive(("readme", b"x", FILE)), "holds no adapter"),
    "a link": (archive(("adapter_config.json", b"", LINK)), "has a link or a device"),
    "a hidden file": (archive((".bashrc", b"x", FILE)), "without a plain name"),
    "two of a name": (
        archive(("a/adapter_config.json", b"x", FILE), ("adapter_config.json", b"y", FILE)),
        "two files of one name",
    ),
    "cut off": (archive(("adapter_config.json", bytes(9999), FILE))[:40], "ends too early"),
    "no archive": (b"<html>" + bytes(600), "is no tar archive, or damaged"),
    "damaged": (b"\x1f\x8b" + bytes(600), "its compression is not valid"),
    "nothing": (b"", "ends too early"),
}


@pytest.mark.parametrize("name", BAD)
def test_archives_that_are_refused(warpgym, trained, tmp_path, name):
    server, run = trained
    data, says = BAD[name]
    server.archives = {LAST: data}
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last")
    server.archives = {}
    assert found.status == support.USAGE and says in found.complaint, found
    assert not list(tmp_path.glob("out*"))


def test_names_with_places_stay_below(warpgym, trained, tmp_path):
    server, run = trained
    server.archives = {LAST: archive(("../../adapter_config.json", b"{}", FILE))}
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last")
    server.archives = {}
    assert "holds no adapter" in found.complaint and not list(tmp_path.glob("out*"))


def test_a_download_that_breaks_off(warpgym, trained, tmp_path):
    server, run = trained
    server.missing = 5000
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last")
    server.missing = 0
    assert found.status == support.INFRASTRUCTURE and len(found.err.splitlines()) == 1, found
    assert not list(tmp_path.glob("out*"))


def test_refusals(warpgym, trained, tmp_path):
    server, run = trained
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last", key="tml-other-key")
    assert "TINKER_API_KEY" in found.complaint and "tml-other" not in found.err
    server.archive_url = "file://"
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last")
    server.archive_url = None
    assert "is not followed" in found.complaint
    gone = next(path for path in server.checkpoints if path.endswith(f"sampler_weights/{LAST}"))
    kept = server.checkpoints.pop(gone)
    found = export(warpgym, run, tmp_path / "out", "--checkpoint", "last")
    server.checkpoints[gone] = kept
    assert "the server has no archive of 'step-000006'" in found.complaint
    assert not list(tmp_path.glob("out*"))


def test_a_disk_that_fills(warpgym, trained, full_disk):
    """One sentence, and nothing half made."""
    server, run = trained
    found = export(warpgym, run, full_disk / "out", "--checkpoint", "last")
    assert found.status == support.INFRASTRUCTURE, found
    assert "No space left on device" in found.complaint
    assert not list(full_disk.glob("out*"))
