"""What the answers of several annotators say about the labels of a check, and about themselves."""

from __future__ import annotations

from dataclasses import dataclass

from rankprune.core import Interval


@dataclass(frozen=True)
class AnnotatorRow:
    """One annotator.

    Attributes
    ----------
    annotator : str
    n_answers : int
    accuracy : Interval
        Share of correct answers.
    positive_noise_rate, negative_noise_rate : Interval
        Shares of the truly positive rows that were called negative, and the other way round.
    remarks : tuple of str
        Why the annotator needs a second look, if so.
    """

    annotator: str
    n_answers: int
    accuracy: Interval
    positive_noise_rate: Interval
    negative_noise_rate: Interval
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class WrongLabels:
    """How many labels are wrong by the answers of all annotators, and which ones.

    Attributes
    ----------
    wrong_share : Interval
    positive_label_error_rate, negative_label_error_rate : Interval
    positive_noise_rate, negative_noise_rate : Interval
    """

    wrong_share: Interval
    positive_label_error_rate: Interval
    negative_label_error_rate: Interval
    positive_noise_rate: Interval
    negative_noise_rate: Interval


@dataclass(frozen=True)
class RepeatedAnswers:
    """The answers behind the labels of a check.

    Attributes
    ----------
    name : str
        Name of the table of answers.
    sha256 : str or None
        SHA-256 hash of that table.
    n_answers, n_rows : int
        Numbers of answers, and of rows with at least one of them.
    n_unanswered : int
        Number of rows without any, which have no label.
    n_without_features : int
        Number of rows with answers that are missing in the table of features.
    agreement : float
        Mean share of a row's answers that equal its consensus.
    confidence : float
        Mean probability of the consensus labels.
    method, reason : str
        The method of the consensus, and why it was chosen.
    doubts : tuple of str
        Why its confidence is not a probability; none if it is one.
    by_votes, by_consensus : WrongLabels
        How many labels of the majority, and of the consensus, are wrong.
    annotators : tuple of AnnotatorRow
        Those who need a second look first, then by accuracy.
    next_rows : tuple of str
        Ids of the rows where one more answer is expected to gain most.
    """

    name: str
    sha256: str | None
    n_answers: int
    n_rows: int
    n_unanswered: int
    n_without_features: int
    agreement: float
    confidence: float
    method: str
    reason: str
    doubts: tuple[str, ...]
    by_votes: WrongLabels
    by_consensus: WrongLabels
    annotators: tuple[AnnotatorRow, ...]
    next_rows: tuple[str, ...]
