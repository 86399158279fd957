"""Progress: shares that rise to 1 and change no byte; bars on a terminal, silence elsewhere."""

import io

import numpy as np
import pytest
from rich.console import Console

from credpart import CalibratedClustering, _progress, focal_sets, irqp, pairwise_intervals
from credpart.datasets import make_mixture1

X = make_mixture1(60, random_state=0).X
POSTERIORS = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], (40, 60))
INTERVALS = pairwise_intervals(POSTERIORS)


def clustered(**options):
    return CalibratedClustering(3, model="EII", n_replicates=20, random_state=0, **options).fit(X)


@pytest.mark.parametrize(
    ("stage", "compute"),
    [
        ("intervals", lambda **options: pairwise_intervals(POSTERIORS, **options).lower),
        (
            "partition",
            lambda **options: irqp(INTERVALS, focal_sets(3), **options).partition.masses,
        ),
    ],
)
def test_shares_rise_to_1_and_change_no_byte(stage, compute):
    told = []
    result = compute(progress=lambda *share: told.append(share))
    shares = [share for _, share in told]
    assert {name for name, _ in told} == {stage}
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(set(shares)) > 3
    assert result.tobytes() == compute().tobytes()


@pytest.fixture
def terminal(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr("rich.console.Console", lambda **options: console)
    return screen


def test_a_terminal_shows_a_bar_a_stage(terminal):
    model = clustered(verbose=1)
    model.predict_masses(X[:3])
    shown = terminal.getvalue()
    for stage in ("select", "bootstrap", "intervals", "partition", "predict"):
        assert stage in shown
    assert "left" in shown
    assert model.partition_.masses.tobytes() == clustered().partition_.masses.tobytes()


def test_silence_unless_asked_and_no_bar_where_nothing_is_live(terminal, capfd):
    clustered()
    assert terminal.getvalue() == ""
    with _progress.shown("select", 0) as progress:
        assert progress is None


def test_a_log_file_gets_no_bar(capfd):
    clustered(verbose=1)
    assert capfd.readouterr() == ("", "")
