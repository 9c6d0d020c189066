"""--fail-over and --fail-on: what is compared, under every verdict, before and after an audit."""

from dataclasses import replace

import numpy as np
import pytest

from noisy_table import noisy_csv
from rankprune import LabelCheck, check_labels, check_table, flip_labels
from rankprune.core import Interval

pytest.importorskip("duckdb")

TRUTH = np.repeat([0, 1], [700, 500])
NOISE = np.random.default_rng(0).normal(0, 0.12, 1200)
LABELS = flip_labels(TRUTH, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)


def with_total(check, level, point, low, high):
    """Return a check with another verdict and range."""
    total = Interval(point, low, high, "truth")
    n = check.n_rows
    prevalence = check.noise_rates.observed_prevalence
    rates = type(check.noise_rates).from_label_error_rates(point, point, prevalence)
    rates = replace(rates, intervals=replace(check.intervals, wrong_share=total))
    assert n == 1200
    verdict = replace(check.verdict, level=level, wrong_share=total)
    return replace(check, noise_rates=rates, verdict=verdict)


@pytest.fixture(scope="module")
def check():
    scores = np.clip(0.25 + 0.5 * TRUTH + NOISE, 0, 1)
    return check_labels(None, LABELS, probabilities=scores)


# Point .10, range .05 to .20: what each limit says under each verdict.
CASES = [
    (level, compared, allowed, fails)
    for level in ("noise found", "clean", "cannot tell")
    for compared, share in ((None, 0.10), ("point", 0.10), ("lower", 0.05), ("upper", 0.20))
    for allowed in (0.04, 0.07, 0.15, 0.30)
    for fails in [share > allowed and (compared in ("lower", "upper") or level == "noise found")]
]


@pytest.mark.parametrize(("level", "compared", "allowed", "fails"), CASES)
def test_every_end_under_every_verdict(command, check, tmp_path, level, compared, allowed, fails):
    found = with_total(check, level, 0.10, 0.05, 0.20)
    found.save(tmp_path / "run")
    words = [] if compared is None else ["--fail-on", compared]
    code, _, err = command("report", tmp_path / "run", "--fail-over", allowed, *words, "-q")
    assert code == int(fails)
    said = {
        "lower": "At least 5.0% of the labels are wrong, more than",
        "upper": "Up to 20.0% of the labels may be wrong, more than",
    }.get(compared, "10.0% of the labels are wrong, more than")
    assert (said in err) == fails
    is_left_out = "--fail-over was not applied" in err
    estimated = check.estimated_rates.wrong_share
    assert is_left_out == (
        compared in (None, "point")
        and (level == "cannot tell" or (level == "clean" and estimated > allowed))
    )
    assert ("--fail-on lower or upper applies it anyway" in err) == is_left_out


def test_a_limit_itself_is_allowed(command, check, tmp_path):
    with_total(check, "noise found", 0.10, 0.05, 0.20).save(tmp_path / "run")
    for compared, allowed in (("point", "10%"), ("lower", "5%"), ("upper", "20%")):
        words = ("report", tmp_path / "run", "-q", "--fail-on", compared, "--fail-over", allowed)
        assert command(*words)[0] == 0


@pytest.mark.parametrize("name", ["check", "report"])
def test_what_to_compare_needs_a_limit(command, tmp_path, name):
    path = noisy_csv(tmp_path)[0]
    words = ("--label", "label") if name == "check" else ()
    code, _, err = command(name, path, *words, "--fail-on", "upper")
    assert (code, "--fail-on only works with --fail-over" in err) == (2, True)


def test_a_check_compares_the_end_that_was_asked_for(command, tmp_path):
    path = noisy_csv(tmp_path, n=300)[0]
    run = tmp_path / "run"
    words = ("check", path, "--label", "label", "--scorer", "model", "-o", run, "--force", "-q")
    assert command(*words)[0] == 0
    total = LabelCheck.load(run).wrong_share_interval
    between = (total.low + total.estimate) / 2
    for compared, fails in (("lower", 0), ("point", 1), ("upper", 1)):
        code = command(*words, "--fail-over", str(between), "--fail-on", compared)[0]
        assert code == fails


def test_after_an_audit_the_audited_answer_is_compared(command, tmp_path):
    path, _, truth = noisy_csv(tmp_path, n=300)
    check = check_table(path, "label", scorer=None)
    sample = check.draw_audit(100, random_state=0)
    settled = check.settle(sample, [("no", "yes")[label] for label in truth[sample.rows]])
    settled.save(tmp_path / "run")
    total = settled.wrong_share_interval
    assert check.wrong_share_interval.high > total.high > total.estimate
    for compared, share in (
        ("lower", total.low),
        ("point", settled.wrong_share),
        ("upper", total.high),
    ):
        words = ("report", tmp_path / "run", "-q", "--fail-on", compared, "--fail-over")
        assert command(*words, str(share + 0.001))[0] == 0
        code, _, err = command(*words, str(share - 0.001))
        assert (code, f"{share:.1%} of the labels" in err) == (1, True)
        assert "(100 rows judged), more than the" in err
