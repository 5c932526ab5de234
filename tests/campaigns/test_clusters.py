"""Campaigns on a Dask cluster of processes on this machine, and on executors."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import polytune
from polytune.campaigns import running, work
from polytune.errors import CampaignError
from polytune.history import HistoryStore, default_store
from tests.campaigns.kernels import scale, shift

pytestmark = pytest.mark.xdist_group("cluster")

SHAPES = {"shift": [{"n": 1000}], "scale": [{"A_0": 30, "A_1": 40}, {"A_0": 60, "A_1": 40}]}
LITTLE = {"trials": 5, "runs": 1, "seconds": 0.01}


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="campaigns on clusters need Dask")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            resources={"polytune": 1},
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_cluster_tunes_though_a_worker_is_killed(client, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_SECONDS_TO_FETCH", 3.0)
    killed, names = [], set()

    def kill(progress):
        names.update(client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks]))
        if not killed and any(entry.trials for entry in progress.entries):
            address, process = next(iter(client.run(os.getpid).items()))
            os.kill(process, signal.SIGKILL)
            killed.append(address)

    store = HistoryStore(tmp_path)
    found = polytune.campaign([shift, scale], SHAPES, client=client, history=store, progress=kill, **LITTLE)
    assert [(entry.kernel, dict(entry.shape)) for entry in found.entries] == [
        ("shift", {"n": 1000}),
        ("scale", {"A_0": 30, "A_1": 40}),
        ("scale", {"A_0": 60, "A_1": 40}),
    ]
    assert killed and not found.interrupted
    for entry in found.entries:
        assert entry.finished and 1 <= entry.trials <= 5 and entry.seconds > 0
        name = scale.name_in_history() if entry.kernel == "scale" else shift.name_in_history()
        records = store.all(name, ", ".join(f"{size}={n}" for size, n in entry.shape.items()), entry.machine)
        assert len(records) == entry.trials and {each.count for each in records} <= {1, 2}
    assert {name.split("-")[0] for name in names} <= {"look", *(f"{verb} {k}" for verb in VERBS for k in SHAPES)}
    # What the history has is not measured again; where a search had ended early, the next one may find one more to ask.
    again = polytune.campaign(scale, SHAPES["scale"], client=client, history=store, **LITTLE)
    assert all(e.finished for e in again.entries)
    assert all(before.trials <= now.trials <= 5 for before, now in zip(found.entries[1:], again.entries, strict=True))
    assert store.all() == HistoryStore(tmp_path).all()


VERBS = ("describe", "compile", "measure", "compare")


@pytest.mark.slow
def test_the_command_runs_a_campaign(client, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    shapes = tmp_path / "shapes.toml"
    shapes.write_text(
        '[scale]\nsignature = "A: float32[:, ::1]"\nshapes = [{A_0 = 20, A_1 = 30}]\n[shift]\nshapes = [{n = 10}]\n'
    )
    # The file has shapes of another kernel as well, which is not named.
    command = [sys.executable, "-m", "polytune", "tune", f"{work.Path(__file__).with_name('kernels.py')}:scale"]
    command += ["--shapes", str(shapes), "--scheduler", client.scheduler.address, "--calls", "3"]
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    (entry,) = json.loads(ran.stdout)["entries"]
    assert (entry["kernel"], entry["shape"], entry["trials"]) == ("scale", {"A_0": 20, "A_1": 30}, 3)
    assert entry["best"]["version"] and "workers" in ran.stderr
    assert len(default_store().all()) == 3


def test_a_worker_that_ends_while_it_is_asked_for_its_version_is_asked_for_no_work(monkeypatch):
    """The others are asked again at the next look, and the campaign goes on."""
    from polytune.campaigns.pools import DaskPool

    python = {"host": {"python": platform.python_version()}}
    answers = [OSError("the stream is closed"), {"workers": {"tcp://a": python}}]

    class Client:
        status = "running"

        def scheduler_info(self, n_workers):
            worker = {"host": "here", "nthreads": 2, "resources": {"polytune": 1.0}}
            return {"id": "one", "workers": {"tcp://a": worker}}

        def get_versions(self):
            answer = answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return answer

    pool = DaskPool(Client())
    assert pool.places() == {} and pool.session == "one"
    assert list(pool.places()) == ["tcp://a"] == list(pool.places()) and not answers


def test_a_scheduler_that_is_gone_is_said_to_be():
    """Whatever Dask raises then, and wherever."""
    from polytune.campaigns.pools import DaskPool, Place

    class Client:
        status = "closed"

        def submit(self, *arguments, **options):
            raise Exception("Tried sending message after closing")

    pool = DaskPool(Client())
    for ask in (pool.places, lambda: pool.submit(Place("tcp://a", "here"), "look", print)):
        with pytest.raises(CampaignError, match=r"the scheduler is gone .*begin the campaign again to go on"):
            ask()
    pool._client.status = "running"
    with pytest.raises(Exception, match="Tried sending") as other:
        pool.submit(Place("tcp://a", "here"), "look", print)
    assert not isinstance(other.value, CampaignError)


def test_executors_do_as_well(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        found = polytune.campaign(shift, [{"n": 100}], client=executor, history=HistoryStore(tmp_path), **LITTLE)
        assert found.entries[0].finished and found.entries[0].best is not None
    with pytest.raises(CampaignError, match="takes no tasks any more"):
        polytune.campaign(shift, [{"n": 100}], client=executor)

    class Nameless:
        submit = None

    with pytest.raises(CampaignError, match="does not say how many workers it has: pass workers="):
        polytune.campaign(shift, [{"n": 100}], client=Nameless())


def test_nobody_there():
    pytest.importorskip("distributed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        from polytune.campaigns import pools

        with pytest.MonkeyPatch.context() as patch, pytest.raises(CampaignError, match="no Dask scheduler at tcp"):
            patch.setattr(pools, "_SECONDS_TO_CONNECT", 0.2)
            polytune.campaign(shift, [{"n": 100}], client=address)


@pytest.mark.parametrize(
    ("shapes", "settings", "said"),
    [
        ([], {}, "there is no shape"),
        ([{"n": 1.5}], {}, "tables of whole numbers"),
        ("n=100", {}, "n=100 cannot be read"),
        ({"shif": [{"n": 1}]}, {}, "'shif', which is no kernel of the campaign; did you mean 'shift'"),
        ([{"n": 1}, {"n": 1}], {}, r"shift\(n=1\) is there twice"),
        ([{"m": 1}], {}, r"shift\(m=1\) cannot be tuned: shift has the sizes n"),
        ([{"n": 1}], {"trials": 0}, "trials is a number above 0"),
        ([{"n": 1}], {"client": 7}, "7 is no distributed.Client"),
        ([{"n": 1}], {"client": "here"}, "'here' is no address of a scheduler"),
    ],
)
def test_what_makes_no_sense_is_refused(shapes, settings, said, tmp_path):
    with ThreadPoolExecutor(1) as executor, pytest.raises(CampaignError, match=said):
        polytune.campaign(shift, shapes, **{"client": executor, "history": HistoryStore(tmp_path)} | settings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[scale", "is no TOML"),
        ("", "names no kernel"),
        ("[scale]\nsizes = 3", r"\[scale\]: it has shapes"),
        ("[scale]\nshapes = [{n = true}]", "tables of whole numbers"),
        ("[scale]\nshapes = [{n = 1}]\nsignature = 3", "a signature is a text"),
    ],
)
def test_files_of_shapes_are_read_with_care(text, said, tmp_path):
    file = tmp_path / "shapes.toml"
    file.write_text(text)
    with pytest.raises(CampaignError, match=said):
        work.read_shapes(file)


def test_kernels_without_a_file_are_refused():
    @polytune.kernel
    def local(n: int, x: float32[::1]):  # noqa: F821
        for i in range(n):
            x[i] = 0.0

    with pytest.raises(CampaignError, match="'local' cannot be sent to workers"):
        work.work_of([local], {"local": work.Shapes(({"n": 1},))})


def test_files_that_begin_a_campaign_when_imported_are_refused(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        "import polytune\n\n\n@polytune.kernel\ndef f(n: 'int', x: 'float32[::1]'):\n    for i in range(n):\n"
        "        x[i] = 0.0\n\n\npolytune.campaign(f, [{'n': 1}])\n"
    )
    from polytune.campaigns.worker import Failure, describe

    found = describe(work.CampaignWork(str(file), file.read_text(), "f", (("n", 1),)), None)
    assert isinstance(found, Failure) and "put the call under if __name__ == '__main__'" in found.reason


def test_scripts_that_begin_a_campaign_when_imported_are_told_what_to_do(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "import polytune\n\n\n@polytune.kernel\ndef f(n: 'int', x: 'float32[::1]'):\n    for i in range(n):\n"
        "        x[i] = 0.0\n"
    )
    script = tmp_path / "script.py"
    script.write_text("import polytune\nfrom kernels import f\n\npolytune.campaign(f, [{'n': 1}], client='local')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
    )
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert "CampaignError: no workers could be started" in last and "under if __name__ == '__main__':" in last


def test_files_that_workers_do_not_have_are_sent(tmp_path):
    from polytune.campaigns.worker import describe

    text = "import polytune\n\n\n@polytune.kernel\ndef g(n: 'int', x: 'float32[::1]'):\n    for i in range(n):\n"
    text += "        x[i] = 0.0\n"
    found = describe(work.CampaignWork(str(tmp_path / "elsewhere.py"), text, "g", (("n", 1),)), None)
    assert found.key.kernel.startswith("g ") and found.space.default()["version"]
