"""What a check says once people have judged rows, and the offer that ends every answer."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune import check_labels, flip_labels
from rankprune.core import Interval
from rankprune.report import render_report
from rankprune.run._findings import Stability
from rankprune.run._offer import Offer, offer_of, rows_left, sizes_to_plan
from rankprune.run._sentences import (
    headline,
    intervals_line,
    judged_notes,
    offer_line,
    plan_title,
    rates_note,
    training_sentence,
    trust_points,
    wrong_share_words,
)
from rankprune.run._words import points

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.random(1500) < 0.4
SCORES = np.clip(0.5 + np.where(TRUTH, 0.25, -0.25) + 0.17 * RANDOM.standard_normal(1500), 0, 1)
LABELS = flip_labels(TRUTH, positive_noise_rate=0.15, negative_noise_rate=0.1, random_state=1)


@pytest.fixture(scope="module")
def check():
    return check_labels(None, LABELS.astype(int), probabilities=0.15 + 0.7 * SCORES)


def judged(check, n=25, answer=lambda row, _: int(TRUTH[row]), **how):
    sample = check.draw_audit(n, random_state=0, **how)
    answers = [answer(row, place) for place, row in enumerate(sample.rows.tolist())]
    return check.settle(sample, answers, **how)


def with_level(check, level, low, high):
    total = Interval(check.wrong_share, low, high, "truth")
    rates = replace(check.noise_rates, intervals=replace(check.intervals, wrong_share=total))
    verdict = replace(check.verdict, level=level, wrong_share=total)
    return replace(check, noise_rates=rates, verdict=verdict)


def test_the_headline_says_how_many_rows_were_judged(check):
    found = judged(check)
    total = found.wrong_share_interval
    assert headline(found) == (
        f"Between {total.low:.1%} and {total.high:.1%} of your labels are wrong, most likely "
        f"{found.wrong_share:.1%} (25 rows judged)."
    )
    assert str(found).startswith(headline(found))
    assert wrong_share_words(found)[0] == f"{total.low:.1%} to {total.high:.1%}"
    page = render_report(found)
    assert headline(found) in page
    assert "<b>25</b><span>judged by people</span>" in page
    assert f"before and after people judged {25} rows" in page
    assert judged_notes(found)[0] in page
    assert "before and after people judged" not in render_report(check)
    plain = found.to_dict()
    assert (plain["wrong_share"], plain["wrong_share_low"]) == (total.estimate, total.low)


def test_answers_that_contradict_the_model_are_reported(check):
    found = judged(check, answer=lambda row, _: int(not LABELS[row]))
    why = "The answers contradict the model, so the range comes from them alone."
    assert found.judged.contradicts_model
    assert headline(found).endswith(f"(25 rows judged). {why}")
    assert rates_note(found) == f"25 of 25 judged labels are wrong. {why}"
    (point,) = [one for one in trust_points(found) if "judge" in one.question]
    assert point.level == "beware"
    assert point.answer.endswith(why)


def test_clean_and_open_after_judging(check):
    found = judged(check)
    clean = with_level(found, "clean", 0.0, 0.041)
    assert headline(clean) == "Your labels look clean: at most 4.1% are wrong (25 rows judged)."
    assert rates_note(clean).startswith("The labels look clean, so no row is a suspect. ")
    assert "zero" not in rates_note(clean)
    open_ = with_level(found, "cannot tell", 0.0, 0.2)
    assert headline(open_) == (
        f"Up to 20.0% of your labels may be wrong, most likely {found.wrong_share:.1%} (25 rows "
        "judged). A person who judges another 25 rows can narrow it down further."
    )
    assert rates_note(open_).startswith("The range is still wide, so no row is a suspect. ")


def test_unsure_answers_are_counted(check):
    found = judged(check, answer=lambda row, place: None if place < 3 else int(TRUTH[row]))
    assert "(22 rows judged)." in headline(found)
    assert judged_notes(found)[-1] == "3 more rows have no clear answer and are not used."
    one = judged(check, answer=lambda row, place: None if place < 1 else int(TRUTH[row]))
    assert judged_notes(one)[-1] == "1 more row has no clear answer and is not used."
    none = judged(check, answer=lambda *_: None)
    assert headline(none) == headline(check)
    assert judged_notes(none) == [
        "None of 25 judged rows has a clear answer, so the rates are those of the model."
    ]
    (point,) = [one for one in trust_points(none) if "judge" in one.question]
    assert (point.level, point.answer) == ("open", judged_notes(none)[0])


def test_a_sample_by_design_says_that_answers_count_alone(check):
    found = judged(check, 200, method="design")
    wrong = (TRUTH != LABELS)[list(found.judged.rows)].sum()
    assert rates_note(found) == (
        f"{wrong} of 200 judged labels are wrong. The ranges come from the answers alone, so they "
        "hold whatever the model believes."
    )
    assert "not mistakes in the answers" in intervals_line(found)
    unsure = judged(
        check,
        200,
        answer=lambda row, place: None if place < 2 else int(TRUTH[row]),
        method="design",
    )
    assert judged_notes(unsure)[-1] == (
        "2 more rows have no clear answer; they count as right for the lower end of a range, and "
        "as wrong for the upper end."
    )


def test_the_intervals_of_a_batch_cover_what_model_and_answers_say(check):
    assert "by what the model and the judged rows say together" in intervals_line(judged(check))


def test_other_folds_say_nothing_about_an_answer_that_people_settled(check):
    again = Stability(check.n_suspects, 0, 0, "cannot tell")
    assert "folds?" in " ".join(p.question for p in trust_points(replace(check, stability=again)))
    found = replace(judged(check), stability=again)
    assert not any("depend on the folds" in one.question for one in trust_points(found))


def test_training_says_what_became_of_judged_rows(check):
    found = judged(check)
    assert training_sentence(found, found.n_suspects).endswith(
        f"25 judged rows have the right label; {found.judged.n_wrong} changed."
    )


class TestOffer:
    def test_it_has_half_of_the_planned_width(self, check):
        half = check.planned_audit((25,))[25]["model"] / 2
        assert offer_of(check) == Offer(25, half)
        total = check.wrong_share_interval
        assert offer_line(check, offer_of(check), "COMMAND") == (
            f"Between {total.low:.1%} and {total.high:.1%} of your labels are wrong. Judge 25 rows "
            f"to narrow this to about ±{100 * half:.1f} points: COMMAND"
        )

    def test_a_settled_check_has_the_next_offer(self, check):
        found = judged(check)
        assert offer_of(found).half_width == found.planned_audit((25,))[25]["model"] / 2
        assert rows_left(found) == 1475

    def test_none_where_the_range_is_narrow_already(self, check):
        narrow = with_level(check, "noise found", 0.10, 0.11)
        assert offer_of(narrow) is None
        assert offer_line(narrow, None, "COMMAND") == ""

    def test_a_check_that_cannot_tell_always_has_one(self, check):
        narrow = with_level(check, "cannot tell", 0.0, 0.055)
        assert offer_line(narrow, offer_of(narrow), "COMMAND") == (
            "Up to 5.5% of your labels may be wrong. Judge 25 rows to narrow this: COMMAND"
        )
        labels = np.repeat([0, 1], [12, 8])
        few = check_labels(None, labels, probabilities=0.2 + 0.6 * labels)
        assert offer_of(few) == Offer(20, None)
        assert offer_line(few, offer_of(few), "COMMAND") == (
            "How many labels are wrong is not known. Judge the 20 rows left to narrow this: COMMAND"
        )
        assert headline(few).endswith("a person who judges the 20 rows that are left will.")
        every = few.settle(np.arange(20), [None] * 20)
        assert offer_of(every) is None
        assert headline(every).endswith("no rows are left to judge.")

    def test_of_very_many_rows_it_has_no_number(self, check, monkeypatch):
        monkeypatch.setattr("rankprune.run._offer._MOST_IF_FAST", 1000)
        assert offer_of(check) == Offer(25, None)

    def test_points_have_a_decimal_below_ten(self):
        shares = (0.0634, 0.09949, 0.0996, 0.121)
        assert [points(share) for share in shares] == [
            "6.3 points",
            "9.9 points",
            "10 points",
            "12 points",
        ]


class TestPlan:
    def test_sizes_of_which_no_more_are_left(self, check):
        assert sizes_to_plan(check) == [25, 50, 100, 200]
        assert sizes_to_plan(check, 30) == [25, 30, 50, 100, 200]
        with pytest.raises(ValueError, match=r"n must be at most the number of rows .* 1500, got"):
            sizes_to_plan(check, 1501)

    def test_the_title_names_what_is_planned(self, check):
        total = check.wrong_share_interval
        assert f"which is {total.high - total.low:.1%} now" in plan_title(check)
        one = check.intervals.positive_label_error_rate
        title = plan_title(check, "1")
        assert "the share of wrong labels among those that say “1”" in title
        assert f"which is {one.high - one.low:.1%} now" in title
        assert "so many more rows" in plan_title(judged(check))
