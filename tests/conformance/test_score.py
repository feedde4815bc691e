"""The score of the conformance suite: what was passed must not be lost."""

import json

from conformance import score


def entry(passed, of, reason=None):
    return {"passed": passed, "of": of, "reason": reason}


def result(**levels):
    item = {"group": "torch", "levels": levels}
    summary = {"torch": {k: [int(e["passed"] == e["of"]), 1, e["passed"], e["of"]] for k, e in levels.items()}}
    return {
        "torch": "2.13.0+cpu",
        "levels": {"op": dict.fromkeys(levels, "what")},
        "suites": {"op": {"items": {"sin": item}, "summary": summary}},
    }


def test_a_level_passes_when_every_case_does():
    found = score.scores(result(L1=entry(1, 1), L2=entry(7, 8), L3=entry(0, 0)))
    assert found == {"op": {"sin": "L1"}}


def test_a_level_that_passes_no_longer_is_lost():
    assert score.lost({"op": {"sin": "L1 L2"}}, {"op": {"sin": "L1"}}) == ["op sin: L2"]


def test_an_item_that_is_gone_has_lost_all_its_levels():
    assert score.lost({"op": {"sin": "L1 L2"}}, {"op": {}}) == ["op sin: L1", "op sin: L2"]


def test_another_wording_of_an_error_is_not_lost():
    assert score.lost({"op": {"sin": "L7 L7m"}}, {"op": {"sin": "L7"}}) == []


def test_a_suite_that_was_not_run_is_not_compared():
    assert score.lost({"module": {"Linear": "M1"}}, {"op": {}}) == []


def test_the_kept_score_is_json_with_one_item_a_line():
    text = score.score_text({"op": {"cos": "L1", "sin": "L1 L2"}})
    assert json.loads(text) == {"op": {"cos": "L1", "sin": "L1 L2"}}
    assert '  "sin": "L1 L2"\n' in text


def test_the_page_says_what_is_missing_and_why():
    shown = score.page(result(L1=entry(1, 1), L2=entry(7, 8, "values differ")))
    assert "| sin | L2 | 7/8 | values differ |" in shown
    assert "| torch | 1/1 | 0/1 |" in shown
    assert shown.endswith("values differ |\n")


def test_what_needs_more_words_has_a_note_below_its_table(monkeypatch):
    monkeypatch.setitem(score.NOTES, "sin", "It is a wave.")
    assert score.page(result(L1=entry(1, 1), L2=entry(7, 8, "values differ"))).endswith(
        "values differ |\n\nIt is a wave.\n"
    )
    assert "wave" not in score.page(result(L1=entry(1, 1), L2=entry(8, 8)))
