"""`answer`: from questions to answers on one's own terminal."""

import json
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Item, Study, StudyItem
from lib.commands import INTERRUPTED, StoppedError
from scoring.management.writing import WritingCommand
from scoring.models import Answer, AnsweringRun, LanguageModel
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import called, json_of, refusal
from tests.scoring.services.answering.made import make_question, study_with_questions
from tests.sheets import Rows, ods, xlsx


@pytest.fixture
def study() -> Study:
    return study_with_questions(4)


def arguments(stub: ChatStub, *more: str, concurrency: int = 1) -> list[str]:
    server = f"base_url={stub.url},model={MODEL},timeout=2,tries=1,concurrency={concurrency}"
    return ["--study", "memory", "--model", "chat", "--model_args", server, *more]


@pytest.mark.django_db
class TestTheCommand:
    def test_says_how_answers_ended_and_what_they_took(self, stub: ChatStub, study: Study) -> None:
        stub.script = ["", "refuses", "500", ""]
        prices = ("--prompt_price", "2", "--completion_price", "10")
        out, _, error = called("answer", *arguments(stub, *prices), "--json")
        said = json.loads(out)
        assert error is not None
        assert str(error).startswith("1 of 4 requests of run"), "what may pass is not passed over"
        assert str(error).endswith("--resume repeats the requests that failed.")
        assert (said["status"], said["questions"]) == ("finished", 4)
        assert said["states"] == {"stop": 2, "refused": 1, "failed": 1}
        whole, *parts = said["states_by_category"]
        assert (whole["category"], whole["states"]) == ("", said["states"])
        assert {"dimension": "reasoning", "category": "Yes or no", "states": {"failed": 1}} in parts
        (cost,) = said["costs"]
        assert cost["model"] == said["model"] == MODEL
        assert (cost["questions"], cost["prompt_tokens"]) == (4, said["prompt_tokens"])
        assert cost["cost"] == pytest.approx(
            (2 * cost["prompt_tokens"] + 10 * cost["completion_tokens"]) / 1e6
        )
        assert cost["cost_per_1000"] == pytest.approx(1000 * cost["cost"] / 3), "of those known"

    def test_says_before_it_starts_what_five_questions_took(
        self, stub: ChatStub, study: Study
    ) -> None:
        prices = ("--prompt_price", "2", "--completion_price", "10")
        (told,) = json_of("answer", *arguments(stub, *prices), "--count-tokens")["runs"]
        assert (told["requests"], told["n_counted"], len(stub.requests)) == (4, 4, 4)
        assert told["cost"] > told["expected_cost"] > 0
        out, _, _ = called("answer", *arguments(stub, *prices), "--dry-run")
        assert "tokens and costs are upper bounds" in out
        assert len(stub.requests) == 4
        assert not AnsweringRun.objects.exists()

    def test_says_at_its_end_that_many_texts_could_not_be_read(
        self, stub: ChatStub, study: Study
    ) -> None:
        stub.script = ["thinks too long"]
        assert "1 of 4 texts (25%) could not be read" in called("answer", *arguments(stub))[0]

    def test_asks_as_it_is_told(self, stub: ChatStub, study: Study, tmp_path: Path) -> None:
        system = tmp_path / "system.txt"
        system.write_text("You know {field}. Guess.")
        how = ("--max_tokens", "50", "--temperature", "0.5", "--limit", "2")
        called("answer", *arguments(stub, "--system", str(system), *how))
        request = stub.requests[0]
        assert request["messages"][0]["content"] == f"You know {study.field}. Guess."
        assert (request["max_tokens"], request["temperature"]) == (50, 0.5)
        assert len(stub.requests) == 2

    def test_resumed_goes_on_at_another_pace_with_the_prices_that_it_had(
        self, stub: ChatStub, study: Study
    ) -> None:
        stub.script = ["", "401"]
        refusal("answer", *arguments(stub, "--prompt_price", "2", "--completion_price", "10"))
        slower = arguments(stub, "--resume")
        slower[slower.index("--model_args") + 1] = (
            f"base_url={stub.url},model={MODEL},timeout=9,retry_seconds=20,tries=2,concurrency=3"
        )
        for _ in range(2):
            said = json_of("answer", *slower)
            assert len(stub.requests) == 5
            assert said["cost"] > 0
        row = AnsweringRun.objects.get()
        assert (row.model_args["concurrency"], row.model_args["tries"]) == ("3", "2")
        assert (row.prompt_price, row.completion_price) == (2, 10)

    def test_says_what_begins_and_begins_nothing_in_place_of_what_is_left(
        self, stub: ChatStub, study: Study
    ) -> None:
        assert (
            "No earlier run has these settings. Run"
            in called("answer", *arguments(stub, "--resume"))[1]
        )
        assert called("answer", *arguments(stub, "--resume"))[1] == "", "all is there"
        assert called("answer", *arguments(stub))[1] == ""

        stub.script = ["", "401"]
        warm = arguments(stub, "--temperature", "0.5")
        refusal("answer", *warm)
        stood = AnsweringRun.objects.latest("pk")
        n = len(stub.requests)
        said = refusal("answer", *arguments(stub, "--temperature", "0.7", "--resume"))
        assert f"Run {stood.pk} of the same model with other settings has reached 1 of 4" in said
        assert len(stub.requests) == n
        assert (
            f"Run {stood.pk} with the same settings has stopped at 1 of 4"
            in called("answer", *warm)[1]
        )

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--prompt_price", "dear"), "“dear” is not an amount."),
            (("--system", "/nowhere"), "/nowhere cannot be read"),
        ],
    )
    def test_refuses_what_cannot_be_meant_in_one_sentence(
        self, stub: ChatStub, study: Study, more: tuple[str, ...], words: str
    ) -> None:
        assert words in refusal("answer", *arguments(stub, *more))
        assert not stub.requests


@pytest.mark.django_db
class TestAnswersMadeElsewhere:
    def test_become_a_run_that_is_over(self, study: Study, tmp_path: Path) -> None:
        file = tmp_path / "answers.jsonl"
        lines = [
            {
                "key": "memory-q001",
                "answer": "PD?\n</think>\nSNCA.",
                "prompt_tokens": 9,
                "completion_tokens": 2,
            },
            {"question": " Which gene is  behind memory-q002? ", "answer": ""},
            {"key": "memory-q003", "answer": "<think>A", "finish": "length", "id": "more"},
        ]
        file.write_text("\n\n".join(map(json.dumps, lines)))
        said = json_of("answer", *of_file(file))
        assert said["states"] == {"stop": 1, "empty": 1, "thinking": 1}
        stored = AnsweringRun.objects.get()
        assert (stored.status, stored.generator, stored.done) == ("finished", "imported", 3)
        assert stored.language_model.name == "elsewhere"
        first = stored.answers.get(item__key="memory-q001")
        assert (first.text, first.thought) == ("SNCA.", "PD?")
        assert (first.prompt_tokens, first.raw) == (9, {})
        assert said["costs"][0]["prompt_tokens_per_1000"] == 9000
        assert said["costs"][0]["seconds_per_1000"] is None

        again = json_of("answer", *of_file(file))
        assert (said["is_new"], again["is_new"]) == (True, False)
        assert again["run"] == said["run"] == AnsweringRun.objects.get().pk
        assert f"imported before, as run {stored.pk}" in called("answer", *of_file(file))[0]
        told = tmp_path / "system.txt"
        told.write_text("Guess.")
        assert json_of("answer", *of_file(file), "--system", str(told))["is_new"]

    @pytest.mark.parametrize("write", [xlsx, ods])
    def test_are_read_from_a_spreadsheet_too(
        self, study: Study, tmp_path: Path, write: Callable[[Mapping[str, Rows]], bytes]
    ) -> None:
        file = tmp_path / f"a.{write.__name__}"
        header = ("Key", "Question", "Answer", "Confidence", "Prompt tokens", "Completion tokens")
        rows: list[tuple[Any, ...]] = [
            ("memory-q001", "", " 007 ", 80, 9.0, 2),
            (),
            ("", "Which gene is behind memory-q002?", "", "", "", ""),
        ]
        file.write_bytes(write({"Notes": [("Mine",)], "Answers": [header, *rows]}))
        assert json_of("answer", *of_file(file))["states"] == {"stop": 1, "empty": 1}
        first, second = AnsweringRun.objects.get().answers.order_by("item__key")
        assert (first.text, first.confidence, first.prompt_tokens) == (" 007 ", 80.0, 9)
        assert (second.text, second.confidence, second.prompt_tokens) == ("", None, None)
        assert not json_of("answer", *of_file(file))["is_new"]

        rows += [("memory-q001", "", "LRRK2.", 101, "", ""), ("memory-q009", "", "No.", "", "", "")]
        file.write_bytes(write({"Answers": [header, *rows]}))
        said = refusal("answer", *of_file(file)).splitlines()
        assert said[0].startswith("Sheet “Answers”, row 5: confidence is not a number")
        assert said[1].startswith("Sheet “Answers”, row 6: the study does not have a question")
        file.write_bytes(write({"Answers": [header[:2], ("memory-q001", "")]}))
        assert "it has no column “answer”" in refusal("answer", *of_file(file))

    @pytest.mark.parametrize(
        ("said", "stored"), [((0.25, 1, None), [25.0, 100.0, None]), ((1, 80, 0), [1.0, 80.0, 0.0])]
    )
    def test_confidence_counts_to_one_or_to_a_hundred_in_a_whole_file(
        self,
        study: Study,
        tmp_path: Path,
        said: tuple[float | None, ...],
        stored: list[float | None],
    ) -> None:
        file = tmp_path / "answers.jsonl"
        lines = [
            {"key": f"memory-q00{n}", "answer": "SNCA.", "confidence": value}
            for n, value in enumerate(said, start=1)
        ]
        file.write_text("\n".join(map(json.dumps, lines)))
        called("answer", *of_file(file))
        answers = AnsweringRun.objects.get().answers.order_by("item__key")
        assert list(answers.values_list("confidence", flat=True)) == stored

    def test_that_say_no_time_are_in_no_rate_of_time(self, study: Study, tmp_path: Path) -> None:
        file = tmp_path / "answers.jsonl"
        lines = [{"key": f"memory-q00{n}", "answer": "SNCA."} for n in (1, 2, 3, 4)]
        timed: list[dict[str, Any]] = [lines[0] | {"seconds": 2}, lines[1] | {"seconds": 0}]
        file.write_text("\n".join(map(json.dumps, [*timed, *lines[2:]])))
        (cost,) = json_of("answer", *of_file(file))["costs"]
        assert (cost["questions"], cost["seconds"], cost["seconds_per_1000"]) == (4, 2, 2000)

    def test_are_of_the_newest_accepted_version_of_a_question(
        self, study: Study, tmp_path: Path
    ) -> None:
        file = tmp_path / "answers.jsonl"
        old = study.items.get(key="memory-q001")
        new = make_version(study, old, 2, markup="Which gene is it now?")
        draft = make_version(study, old, 3, status="retired", markup="Which gene will it be?")
        for said, item in (
            ({"key": old.key}, new),
            ({"question": old.markup}, old),
            ({"question": draft.markup}, draft),
        ):
            file.write_text(json.dumps(said | {"answer": "SNCA."}))
            called("answer", *of_file(file))
            assert Answer.objects.latest("pk").item == item
        same_text = make_version(study, old, 4, markup=old.markup)
        file.write_text(json.dumps({"question": old.markup, "answer": "LRRK2."}))
        called("answer", *of_file(file))
        assert Answer.objects.latest("pk").item == same_text

        study.items.filter(key=old.key).update(status="retired")
        file.write_text(json.dumps({"key": old.key, "answer": "Another."}))
        said = refusal("answer", *of_file(file))
        assert (
            said == "Line 1: the study has 4 versions of “memory-q001”, none of which is accepted."
        )

    def test_are_refused_whole_with_the_place_of_each_problem(
        self, study: Study, tmp_path: Path
    ) -> None:
        file = tmp_path / "answers.jsonl"
        lines = [
            '{"key": "memory-q001", "answer": "SNCA."}',
            '{"key": "memory-q001", "answer": "LRRK2."}',
            '{"key": "memory-q009", "answer": "No."}',
            "Some words",
            "[1]",
            '{"answer": "No."}',
            '{"key": "memory-q002"}',
            '{"key": "memory-q002", "answer": 3}',
            '{"key": "memory-q002", "answer": "No.", "finish": "done"}',
            '{"key": "memory-q002", "answer": "No.", "prompt_tokens": 1.5, "completion_tokens": 1}',
            '{"key": "memory-q002", "answer": "No.", "seconds": "2"}',
            '{"key": "memory-q002", "answer": "No.", "confidence": 101}',
            '{"key": "memory-q002", "answer": "No.", "confidence": NaN}',
            '{"key": "memory-q002", "answer": "No.", "confidence": true}',
            '{"question": "Why?", "answer": "No."}',
        ]
        file.write_text("\n".join(lines))
        said = refusal("answer", *of_file(file)).splitlines()
        assert [line.split(":")[0] for line in said] == [f"Line {n}" for n in range(2, 16)]
        words = ("answered in line 1", "“memory-q009”", "not JSON", "not a JSON object", "key or question", "answer is missing", "not a text", "finish", "whole numbers", "seconds", "confidence is not a number", "NaN is not a number", "confidence is not a number", "“Why?”")  # fmt: skip
        for line, word in zip(said, words, strict=True):
            assert word in line
        assert not AnsweringRun.objects.exists()
        assert not LanguageModel.objects.exists()

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "does not contain any answers"),
            (b"\xff\xfe", "cannot be read: it is not UTF-8 text: byte 0xff in line 1"),
            (b'{"key": "q", "answer": "no"}\n\n{"answer": "caf\xe9"}\n', "byte 0xe9 in line 3;"),
            (b'"' + b"x" * 1_100_000, "more than 1,000,000 characters"),
        ],
    )
    def test_cannot_be_anything(
        self, study: Study, tmp_path: Path, content: bytes, words: str
    ) -> None:
        file = tmp_path / "answers.jsonl"
        file.write_bytes(content)
        assert words in refusal("answer", *of_file(file))


def make_version(study: Study, item: Item, version: int, **fields: Any) -> Item:
    values = {"expert_answer": "SNCA is.", "categories": item.categories, "generator": ""}
    made = make_question(item.key, version=version, **(values | fields))
    StudyItem.objects.create(study=study, item=made)
    return made


def of_file(file: Path) -> list[str]:
    return ["--study", "memory", "--file", str(file), "--name", "elsewhere"]


def test_an_interrupted_command_says_how_to_continue() -> None:
    def stop(run: AnsweringRun, on_progress: Callable[[AnsweringRun], None]) -> AnsweringRun:
        on_progress(run)
        raise KeyboardInterrupt

    command = WritingCommand(StringIO(), StringIO())
    with pytest.raises(StoppedError, match="with --resume to continue") as stopped:
        command.work_off(AnsweringRun(), stop, ("answers", "questions"), {"json": True})
    assert stopped.value.returncode == INTERRUPTED
