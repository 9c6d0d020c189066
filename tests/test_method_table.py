"""The table of properties: its figures and tests are looked up, its ticks are decided again."""

import inspect
import re
import warnings
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from rankprune import RankPruningClassifier
from rankprune import torch as networks
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    CoTrainingClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    RESVMClassifier,
    WeightedLogisticPUClassifier,
)

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = (DOCS / "method_table.md").read_text(encoding="utf-8")

# Table 2 of the paper, row by row.
COLUMNS = (
    "noise rates",  # Noise Estim.
    "both classes",  # noisy P and noisy N
    "PU",  # PU
    "any classifier",  # Any Prob. Classifier
    "imperfect scores",  # Prob Estim. Robustness
    "few fits",  # Time Efficient
    "theory",  # Theory Support
    "added rows",  # Added Noise
)
PAPER = {
    "Elkan and Noto 2008": "✓ - ✓ ✓ - ✓ ✓ -",
    "Claesen et al. 2015": "- - ✓ - ✓ - - -",
    "Scott et al. 2013": "✓ - - ✓ ✓ - ✓ -",
    "Natarajan et al. 2013": "- ✓ ✓ ✓ ✓ ✓ ✓ -",
    "Liu and Tao 2016": "- ✓ ✓ ✓ - ✓ ✓ -",
    "Rank Pruning": "✓ ✓ ✓ ✓ ✓ ✓ ✓ ✓",
}
CLASSES = {
    "Elkan and Noto 2008": ElkanNotoClassifier,
    "Claesen et al. 2015": RESVMClassifier,
    "Natarajan et al. 2013": LabelDependentCostClassifier,
    "Liu and Tao 2016": ImportanceReweightingClassifier,
    "Rank Pruning": RankPruningClassifier,
    "Weighted logistic": WeightedLogisticPUClassifier,
    "Biased SVM": BiasedSVMClassifier,
    "Bagging PU": BaggingPUClassifier,
    "Consistency pruning": ConsistencyPruningClassifier,
    "Co-training": CoTrainingClassifier,
    "Bootstrapping": networks.BootstrappedNetClassifier,
    "Reconstruction": networks.BootstrappedNetClassifier,
    "Noise model": networks.NoiseModelNetClassifier,
    "Forward correction": networks.CorrectedNetClassifier,
    "Backward correction": networks.CorrectedNetClassifier,
}
# Made for labels of which the positive ones are right, among those that are judged by scores.
PU_ALONE = {"Elkan and Noto 2008"}
N_FOLDS = 3
TODO = "? <!-- TODO-NETWORKS -->"


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text):
    """Yield each table as the text before it, its header and its rows."""
    before = ""
    for is_table, group in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        lines = list(group)
        if is_table:
            header, _, *rows = map(cells_of, lines)
            yield before, header, rows
        before = "\n".join(lines)


def section(title):
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


SECTIONS = {column: section(column[0].upper() + column[1:]) for column in COLUMNS}
(_, HEADER, ROWS), (_, _, SYSTEMS), (_, _, DISAGREEMENTS), *_ = tables_of(PAGE)
OURS = {row[0]: dict(zip(COLUMNS, row[2:], strict=True)) for row in ROWS if row[1] == "ours"}


def marks():
    """Return the mark and the number of the evidence of each of our cells."""
    return {
        (system, column): re.fullmatch(r"([✓-])(?: ≠)? \[(\d+)\]\(#([\w-]+)\)", cell).groups()
        for system, row in OURS.items()
        for column, cell in row.items()
        if cell != TODO
    }


def notes():
    """Return the section, the systems and the other cells of each numbered row."""
    return [
        (int(row[0]), column, row[1].split("; "), header, row)
        for column, text in SECTIONS.items()
        for _, header, rows in tables_of(text)
        for row in rows
        if row[0]
    ]


def test_the_table_has_the_columns_of_the_paper():
    assert HEADER[2:] == [f"[{name}](#{name.lower().replace(' ', '-')})" for name in COLUMNS]


def test_the_papers_ticks_are_the_papers():
    printed = {row[0]: " ".join(row[2:]) for row in ROWS if row[1] == "paper"}
    assert printed == PAPER


def test_every_system_is_named_with_its_class():
    assert [row[0] for row in SYSTEMS] == list(OURS)
    for system, _, here in SYSTEMS:
        if system in CLASSES:
            assert f"`{CLASSES[system].__name__}`" in here


def test_every_cell_names_a_note_about_that_system_in_that_column():
    about = {number: (column, systems) for number, column, systems, _, _ in notes()}
    for (system, column), (_, number, anchor) in marks().items():
        assert about[int(number)][0] == column
        assert system in about[int(number)][1]
        assert anchor == column.lower().replace(" ", "-")


def test_every_note_has_its_own_number_and_is_used():
    numbers = [number for number, *_ in notes()]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    used = {(int(number), system) for (system, _), (_, number, _) in marks().items()}
    assert used == {(number, system) for number, _, systems, _, _ in notes() for system in systems}


def test_disagreements_are_marked_and_each_is_explained():
    ours, listed = marks(), {tuple(row[:4]) for row in DISAGREEMENTS}
    differing = {
        (system, column, tick, ours[system, column][0])
        for system, ticks in PAPER.items()
        for column, tick in zip(COLUMNS, ticks.split(), strict=True)
        if ours[system, column][0] != tick
    }
    assert differing == listed
    marked = {(s, c) for s, row in OURS.items() for c, cell in row.items() if "≠" in cell}
    assert marked == {difference[:2] for difference in differing}
    for system, column, *_ in differing:
        who = system.split(" 20")[0].split(" et al.")[0]
        assert f"- **{who}: we disagree" in SECTIONS[column]


def named_tests():
    return sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), named_tests())
def test_every_named_test_exists(path, name):
    assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_other_note_names_a_test_a_source_or_a_page():
    for _, _, _, header, row in notes():
        if header[2] == "evidence":
            assert re.search(r"`tests/[\w/]+\.py::test_\w+`|\*[A-Z][^*]+\*|\]\(", row[2])


def target(link):
    return (DOCS / link.split("#")[0]).resolve()


@cache
def figures_of(path, title):
    """Return the cells of the table under a title, by line and column."""
    parts = re.split(r"^#+ (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (_, header, rows), *_ = tables_of(dict(zip(parts[1::2], parts[2::2], strict=True))[title])
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


def printed_tables():
    """Yield each table of figures, with the page and the title it was taken from."""
    for column, text in SECTIONS.items():
        for before, header, rows in tables_of(text):
            if header[2] == "line":
                source = re.search(r"Figures from \[[^\]]+\]\(([^)]+)\), “([^”]+)”:", last(before))
                yield column, target(source[1]), source[2], header[3:], rows


def last(before):
    return before.strip().splitlines()[-1]


def test_every_figure_stands_in_the_named_table():
    compared = 0
    for _, path, title, names, rows in printed_tables():
        for _, _, line, *values in rows:
            cells = figures_of(path, title)[line]
            # A published figure may follow in parentheses.
            assert values == [re.sub(r" \([.\d]+\)$", "", cells[name]) for name in names]
            compared += len(values)
    assert compared > 90


def test_every_quoted_line_stands_on_the_linked_page():
    quotes = 0
    for line in PAGE.splitlines():
        for quote in re.findall(r"`([^`]+: \d?\.\d+[^`]*)`", line):
            pages = [target(link) for link in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", line)]
            assert any(quote in page.read_text(encoding="utf-8") for page in pages)
            quotes += 1
    assert quotes


def test_every_other_figure_was_measured_or_is_a_limit():
    sources = ("results/methods.md", "docs/choosing.md", "docs/reproduction/README.md")
    pages = [*sources, "docs/reproduction/figures.md"]
    if (DOCS / "reproduction" / "networks.md").exists():
        pages.append("docs/reproduction/networks.md")
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    measured = {float(number) for number in re.findall(r"\d*\.\d+", text)}
    f1 = figures_of(ROOT / "results" / "methods.md", "MNIST, F1, 60,000 rows")
    means = {line: float(cells["mean"]) for line, cells in f1.items()}
    falls = {round(means["right labels"] - mean, 3) for mean in means.values()}
    limits = {0.1, 0.05, 0.85, 0.25, 0.5}
    prose = "\n".join(line for line in PAGE.splitlines() if not line.startswith("|"))
    told = {float(number) for number in re.findall(r"\d*\.\d+", prose)}
    assert told <= measured | falls | limits


def number_of(cell):
    return float(re.match(r"[.\d]+", cell)[0])


def mean(cells):
    return sum(map(number_of, cells)) / len(cells)


def n_fits(cost):
    """Return the number of fits in a phrase such as "7 K + 1 fits"."""
    times, rest = re.match(r"(?:(\d*) ?K \+ )?(\d+) ", cost).groups()
    return int(rest) + (0 if times is None else int(times or 1) * N_FOLDS)


def has_tick(column, system, names, cells, others):
    """Apply the criterion of a column to the figures of a line, beside those of other lines."""
    if column == "noise rates":
        chosen = "positives right" if system in PU_ALONE else "logistic"
        return number_of(cells[names.index(chosen)]) <= 0.1
    if column in ("both classes", "PU"):
        return mean(cells) < mean(others["noisy labels"])
    if column == "imperfect scores":
        at = 0 if system in PU_ALONE else names.index("mean") if "mean" in names else slice(None)
        one, right = np.atleast_1d(cells)[at], np.atleast_1d(others["right labels"])[at]
        return mean(np.atleast_1d(right)) - mean(np.atleast_1d(one)) <= 0.05 + 1e-9
    if column == "few fits":
        return n_fits(cells[0]) <= N_FOLDS + 1
    assert column == "added rows"
    if "1" in names:  # added rows as a share of the others
        return number_of(cells[names.index("1")]) >= 0.85
    return mean(cells) <= (mean(others["noisy labels"]) + mean(others["right labels"])) / 2


def test_the_figures_decide_the_ticks_by_the_criteria():
    ours, decided = marks(), 0
    for column, _, _, names, rows in printed_tables():
        # Networks have their own pages, on which the two ends have longer names.
        ends = {" ".join(row[2].lower().split()[:2]): row[3:] for row in rows if not row[0]}
        for number, systems, _, *cells in rows:
            for system in systems.split("; ") if number else ():
                mark = "✓" if has_tick(column, system, names, cells, ends) else "-"
                assert (system, column, mark) == (system, column, ours[system, column][0])
                decided += 1
    assert decided > 40


def test_costs_are_counted_in_fits():
    assert [n_fits(f"{cost} fits") for cost in ("K + 1", "7 K + 1", "50")] == [4, 22, 50]


def having(column, mark):
    return [
        CLASSES[system]
        for system in OURS
        if system in CLASSES and OURS[system][column].startswith(mark)
    ]


def parameters_of(call):
    return set(inspect.signature(call).parameters)


def in_note(column, text):
    """Return the classes of the systems in the one note of a column that contains a text."""
    ((systems, _),) = [
        (systems, row)
        for _, about, systems, header, row in notes()
        if about == column and header[2] == "evidence" and text in row[2]
    ]
    return [CLASSES[system] for system in systems]


def test_the_classes_with_this_tick_fit_naive_bayes_and_a_tree():
    generator = np.random.default_rng(0)
    truth = np.arange(120) % 2
    X = generator.normal(size=(120, 4)) + 2 * truth[:, None]
    y = truth * (generator.random(120) < 0.8)
    for make in having("any classifier", "✓"):
        few = {"n_estimators": 3} if "n_estimators" in parameters_of(make) else {}
        for estimator in (GaussianNB(), DecisionTreeClassifier(max_depth=2)):
            with warnings.catch_warnings():
                # With so few rows some methods doubt their assumptions.
                warnings.simplefilter("ignore")
                model = make(estimator, random_state=0, **few).fit(X, y)
            assert model.score(X, truth) > 0.6


def test_the_classes_without_this_tick_take_no_estimator():
    for make in having("any classifier", "-"):
        assert "estimator" not in parameters_of(make)


def test_methods_without_rates_have_neither_parameter_nor_attribute_for_them():
    for make in in_note("noise rates", "estimate no noise rate"):
        assert not any("noise" in name for name in parameters_of(make))
        assert "noise_rates_" not in make.__doc__


def test_methods_without_scores_have_no_argument_for_them():
    for make in in_note("imperfect scores", "no argument for them"):
        assert "scorer" not in parameters_of(make)
        assert "probabilities" not in parameters_of(make.fit)


def test_networks_are_trained_at_most_four_times():
    reed, xiao, patrini = (
        {name: value.default for name, value in inspect.signature(make).parameters.items()}
        for make in (
            networks.BootstrappedNetClassifier,
            networks.NoiseModelNetClassifier,
            networks.CorrectedNetClassifier,
        )
    )
    assert not {"cv", "rounds"} & set(reed)
    # A plain and a corrected training; then the network of the kinds alone, and both in each round.
    short = (1 + 2 * xiao["rounds"]) * xiao["round_epochs"]
    assert "cv" not in xiao
    assert 2 * xiao["max_epochs"] + short <= 4 * xiao["max_epochs"]
    assert patrini["cv"] + 1 <= N_FOLDS + 1


def test_networks_are_judged_once_they_are_measured():
    if (DOCS / "reproduction" / "networks.md").exists():
        assert "TODO-NETWORKS" not in PAGE
