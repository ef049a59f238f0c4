"""Texts as tokens, and the windows that longer ones are read in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.domain.backend import ScoringError, TextError
from scoring.domain.conditions import MarkedText
from scoring.domain.encoding import cut, encode, rolling_windows
from scoring.domain.prompts import PAPER_SENTENCE, Prompt
from tests.scoring import tokenizers_made

TEXT = "Rats slept 5 h;  β rose — \N{MATHEMATICAL ITALIC SMALL BETA} fell.\n\nSo it did."
CHAT = "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}{% endfor %}"
REFUSES_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
)
KINDS = {
    "bytes": tokenizers_made.byte_level,
    "trimming bytes": tokenizers_made.trimming_byte_level,
    "llama-like": tokenizers_made.llama_like,
    "unigram": tokenizers_made.unigram,
    "wordpiece": tokenizers_made.wordpiece,
}


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def gpt2(shared_dir):
    return tokenizers_made.gpt2(shared_dir)


@pytest.fixture
def llama_like():
    return tokenizers_made.llama_like()


@pytest.fixture
def chatty():
    def make(template, **special):
        made = tokenizers_made.byte_level(**special)
        made.chat_template = template
        return made

    return make


def plain(text):
    return MarkedText(text, ())


def characters(encoded, text, chosen):
    """The text's characters that the chosen tokens cover, each once."""
    covered = {n for span in encoded.spans[chosen].tolist() for n in range(*span) if n >= 0}
    return "".join(text[n] for n in sorted(covered))


def read(tokenizer, prompt, text):
    """The text that a model reads, as the tokenizer spells it back."""
    return tokenizer.decode(encode(tokenizer, prompt, plain(text)).ids)


@given(text=st.text(st.characters(codec="utf-8"), min_size=1))
@settings(max_examples=50, deadline=None)
def test_paper_feeds_exactly_what_the_tokenizer_makes_of_one_string_but_for_an_end_token(
    tokenizer, text
):
    string = f"{PAPER_SENTENCE} {text}".strip()
    try:
        encoded = encode(tokenizer, Prompt.of("paper"), plain(text))
    except TextError:
        return  # nothing but spaces, or nothing that this tokenizer knows
    end = tokenizer("").tokens()[-1:]
    made = tokenizer(string)
    expected = made["input_ids"][:-1] if end in (["</s>"], ["[SEP]"]) else made["input_ids"]
    assert encoded.ids.tolist() == expected


def test_paper_feeds_gpt_2_exactly_what_its_tokenizer_makes_of_one_string(gpt2):
    encoded = encode(gpt2, Prompt.of("paper"), plain(TEXT + "\n"))
    assert encoded.ids.tolist() == gpt2(f"{PAPER_SENTENCE} {TEXT}")["input_ids"]
    assert encoded.pieces[:3] == ("You", "Ġare", "Ġa")


@pytest.mark.parametrize("kind", ["none", "paper", "clean", "custom"])
def test_the_tokens_of_a_text_are_those_that_cover_its_characters(tokenizer, kind):
    template = "Read this.\n<choice abstract> Did you?" if kind == "custom" else ""
    encoded = encode(tokenizer, Prompt.of(kind, template), plain(TEXT))
    found = characters(encoded, TEXT, encoded.in_text)
    assert "".join(found.split()) == "".join(TEXT.split())
    assert characters(encoded, TEXT, ~encoded.in_text) == ""
    shape = (len(encoded.ids),)
    assert (len(encoded.pieces), *encoded.in_text.shape, *encoded.in_alternation.shape) == shape * 3
    assert encoded.spans.shape == (*shape, 2)
    first, last = np.flatnonzero(encoded.in_text)[[0, -1]]
    assert encoded.in_text[first : last + 1].all()
    if kind != "paper":
        assert last == len(encoded.ids) - 1


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_the_tokens_of_an_alternation_are_those_that_touch_a_passage(tokenizer, data):
    ends = data.draw(st.lists(st.integers(0, len(TEXT)), min_size=2, max_size=6, unique=True))
    ends = sorted(ends)[: len(ends) // 2 * 2]
    spans = tuple(zip(ends[::2], ends[1::2], strict=True))
    encoded = encode(tokenizer, Prompt.of("clean"), MarkedText(TEXT, spans))
    passages = {n for span in spans for n in range(*span)}
    for span, marked in zip(encoded.spans.tolist(), encoded.in_alternation, strict=True):
        assert marked == bool(passages & set(range(*span)))


def test_a_space_that_a_token_shares_with_the_prompt_does_not_take_the_word_from_the_text(gpt2):
    encoded = encode(gpt2, Prompt.of("clean"), plain("Rats slept."))
    first = int(np.argmax(encoded.in_text))
    assert encoded.pieces[first:] == ("ĠRats", "Ġslept", ".")
    assert encoded.spans[first:].tolist() == [[-1, 4], [4, 10], [10, 11]]
    assert encoded.spans[first - 1].tolist() == [-2, -1]


def test_tokens_that_share_one_character_have_the_same_span_and_all_count(gpt2):
    encoded = encode(gpt2, Prompt.of("none"), plain("a\N{MATHEMATICAL ITALIC SMALL BETA}b"))
    assert encoded.spans.tolist() == [[0, 1], [1, 2], [1, 2], [1, 2], [2, 3]]
    assert encoded.in_text.all()


def test_compatibility_forms_keep_the_span_of_what_was_written():
    encoded = encode(
        tokenizers_made.unigram(), Prompt.of("none"), plain("in \N{LATIN SMALL LIGATURE FI}fty")
    )
    assert "".join(encoded.pieces[1:]) == "▁in▁fifty"
    assert [2, 4] in encoded.spans.tolist() or [3, 4] in encoded.spans.tolist()
    assert encoded.spans[-1, 1] == 7


def test_a_tokenizer_without_start_token_gets_none(gpt2):
    assert gpt2.bos_token == "<|endoftext|>"
    clean, paper = (encode(gpt2, Prompt.of(kind), plain(TEXT)) for kind in ("clean", "paper"))
    assert clean.ids.tolist() == paper.ids.tolist()
    assert gpt2.bos_token_id not in clean.ids


@pytest.mark.parametrize(
    ("kind", "template"),
    [
        ("none", ""),
        ("clean", ""),
        ("custom", "Read: <choice abstract>"),
        ("custom", "<s>[INST] Read: [/INST] <choice abstract></s>"),
    ],
)
def test_a_start_token_is_given_once_whoever_asks_for_it(llama_like, kind, template):
    encoded = encode(llama_like, Prompt.of(kind, template), plain(TEXT))
    assert encoded.ids[0] == llama_like.bos_token_id
    assert encoded.ids.tolist().count(llama_like.bos_token_id) == 1
    assert encoded.spans[0, 0] <= 0
    assert not encoded.in_text[0]


def test_a_spelled_start_token_leaves_the_same_tokens_as_without_the_tokenizers_own(llama_like):
    template = "<s>[INST] Read: [/INST] <choice abstract>"
    encoded = encode(llama_like, Prompt.of("custom", template), plain(TEXT))
    string = template.replace("<choice abstract>", TEXT)
    assert encoded.ids.tolist() == llama_like(string, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("kind", ["none", "paper", "clean"])
@pytest.mark.parametrize(
    "made",
    [
        tokenizers_made.unigram,
        tokenizers_made.wordpiece,
        tokenizers_made.ending,
        tokenizers_made.ending_llama,
    ],
    ids=lambda made: made.__name__,
)
def test_an_end_token_of_the_tokenizers_own_is_neither_fed_nor_scored(made, kind):
    made = made()
    whole = made(Prompt.of(kind).place(TEXT)[0])["input_ids"]
    encoded = encode(made, Prompt.of(kind), plain(TEXT))
    assert made.convert_ids_to_tokens(whole[-1]) in ("</s>", "[SEP]")
    assert encoded.ids.tolist() == whole[:-1]
    assert encoded.in_text[-1]
    assert encoded.spans[-1, 1] == len(TEXT)


def test_a_tokenizers_own_truncation_is_not_obeyed():
    made = tokenizers_made.byte_level()
    whole = encode(made, Prompt.of("paper"), plain(TEXT)).ids.tolist()
    made.backend_tokenizer.enable_truncation(8)
    made.backend_tokenizer.enable_padding(length=500)
    made.model_max_length = 8
    assert encode(made, Prompt.of("paper"), plain(TEXT)).ids.tolist() == whole
    assert len(whole) > 8


@pytest.mark.parametrize("kind", ["none", "paper", "clean"])
def test_a_text_that_spells_a_control_token_is_named(llama_like, gpt2, kind):
    for made, spelled in ((llama_like, "</s>"), (llama_like, "<s>"), (gpt2, "<|endoftext|>")):
        with pytest.raises(TextError, match="reads as a control token") as caught:
            encode(made, Prompt.of(kind), plain(f"Rats {spelled} slept."))
        assert f"“{spelled}”" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "is empty"), (" \n", "is empty"), ("a\ud800b", "half of a character pair")],
)
def test_a_text_that_is_none_is_named(gpt2, text, reason):
    with pytest.raises(TextError, match=reason):
        encode(gpt2, Prompt.of("clean"), plain(text))


def test_whitespace_around_a_text_is_not_read_and_moves_no_span(gpt2):
    bare = encode(gpt2, Prompt.of("none"), MarkedText("Rats slept.", ((5, 10),)))
    padded = encode(gpt2, Prompt.of("none"), MarkedText("\n Rats slept. \n", ((7, 12),)))
    assert padded.ids.tolist() == bare.ids.tolist()
    assert (padded.spans - 2).tolist() == bare.spans.tolist()
    assert padded.in_alternation.tolist() == bare.in_alternation.tolist()
    assert bare.in_alternation.tolist() == [False, False, True, False]


def test_a_chat_ends_with_the_text_as_the_assistants_turn(chatty):
    made = chatty(CHAT)
    assert read(made, Prompt.of("chat"), "Rats slept.") == (
        "<|system|>You are a neuroscientist with deep knowledge in neuroscience.<|end|>"
        "<|user|>Here is an abstract from a neuroscience publication:<|end|>"
        "<|assistant|>Rats slept."
    )
    encoded = encode(made, Prompt.of("chat"), MarkedText(" Rats slept.\n", ((6, 11),)))
    assert characters(encoded, " Rats slept.\n", encoded.in_text) == "Rats slept."
    assert characters(encoded, " Rats slept.\n", encoded.in_alternation).strip() == "slept"
    assert not encoded.in_text[0]


@pytest.mark.parametrize(
    "template",
    [
        REFUSES_SYSTEM + CHAT,
        "{% for m in messages if m['role'] != 'system' %}{{ m['role'] + ': ' + m['content'] }}{% endfor %}",
    ],
)
def test_the_system_message_joins_the_users_turn_without_a_system_role(chatty, template):
    string = read(chatty(template), Prompt.of("chat"), "Rats slept.")
    assert PAPER_SENTENCE in string
    assert "system" not in string
    assert string.endswith("Rats slept.")


@pytest.mark.parametrize("template", [CHAT, "{{ bos_token }}" + CHAT])
def test_a_chat_gets_one_start_token(template):
    made = tokenizers_made.llama_like()
    made.chat_template = template
    encoded = encode(made, Prompt.of("chat"), plain("Rats slept."))
    assert encoded.ids[0] == made.bos_token_id
    assert encoded.ids.tolist().count(made.bos_token_id) == 1


def test_a_chat_gets_no_start_token_that_nobody_asked_for(chatty):
    made = chatty(CHAT, bos_token="<s>")
    assert made.bos_token_id not in encode(made, Prompt.of("chat"), plain("Rats slept.")).ids


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "does not have a chat template"),
        ("{% for m in messages %}{{ m['content'] | upper }}{% endfor %}", "changes texts"),
        ("{{ messages[0]['content'] }}", "changes texts"),
        ("{% if %}", "cannot be used"),
        ("{{ raise_exception('only questions') }}", "only questions"),
    ],
)
def test_a_chat_template_that_cannot_hold_a_text_stops_the_run(chatty, template, message):
    with pytest.raises(ScoringError, match=message):
        encode(chatty(template), Prompt.of("chat"), plain("Rats slept."))


def test_a_text_that_only_a_chat_template_changes_is_named(chatty):
    made = chatty("{% for m in messages %}[{{ m['content'].split('</think>')[-1] }}]{% endfor %}")
    assert read(made, Prompt.of("chat"), "Rats slept.").endswith("[Rats slept.")
    with pytest.raises(TextError, match="is changed by the model's chat template"):
        encode(made, Prompt.of("chat"), plain("Rats </think> slept."))


def test_a_chat_template_that_says_something_of_a_text_before_it_is_named(chatty):
    made = chatty("{% set text = messages[-1]['content'] %}{{ text | length }} letters: {{ text }}")
    with pytest.raises(TextError, match="is changed by the model's chat template"):
        encode(made, Prompt.of("chat"), plain("Rats slept."))


# Cut to a window


@pytest.mark.parametrize("kind", ["none", "clean", "paper"])
def test_a_cut_leaves_out_as_much_of_both_versions_and_keeps_the_start_token(llama_like, kind):
    texts = [TEXT + " It rose.", TEXT + " It fell for a very long time."]
    whole = [encode(llama_like, Prompt.of(kind), plain(text)) for text in texts]
    n, window = max(len(one.ids) for one in whole), 20
    assert n > window
    for one, left in zip(whole, cut(whole, window), strict=True):
        assert left.pieces == (one.pieces[0], *one.pieces[1 + n - window :])
        assert one.pieces[0] == "<s>"
        for name in ("ids", "spans", "in_text", "in_alternation"):
            assert np.array_equal(getattr(left, name)[1:], getattr(one, name)[1 + n - window :])
    assert max(len(one.ids) for one in cut(whole, window)) == window


def test_without_a_start_token_a_cut_leaves_the_end_alone(gpt2):
    whole = encode(gpt2, Prompt.of("paper"), plain(TEXT))
    (left,) = cut([whole], 7)
    assert left.pieces == whole.pieces[-7:]
    assert cut([whole], len(whole.ids)) == (whole,)


def test_a_version_of_which_nothing_would_be_left_is_refused(gpt2):
    whole = [encode(gpt2, Prompt.of("none"), plain(text)) for text in (TEXT * 9, "Rats slept.")]
    with pytest.raises(TextError, match="nothing remains"):
        cut(whole, 20)


LENGTHS, SIZES = st.integers(2, 200), st.integers(2, 40)


@given(LENGTHS, SIZES)
def test_every_token_but_the_first_is_scored_once(n_tokens: int, size: int) -> None:
    windows = rolling_windows(n_tokens, size)
    scored = [token for window in windows for token in range(window.scored, window.stop)]
    assert scored == list(range(1, n_tokens))
    assert all(window.start < window.scored for window in windows)
    assert all(window.stop - window.start <= size for window in windows)


@given(LENGTHS, SIZES)
def test_they_are_the_windows_of_lm_evaluation_harness(n_tokens: int, size: int) -> None:
    utils = pytest.importorskip("lm_eval.utils")
    tokens = list(range(n_tokens))
    theirs = [
        utils.make_disjoint_window(pair)
        for pair in utils.get_rolling_token_windows(
            tokens[1:], prefix_token=0, max_seq_len=size - 1, context_len=1
        )
    ]
    ours = [
        (tokens[w.start : w.scored], tokens[w.scored : w.stop])
        for w in rolling_windows(n_tokens, size)
    ]
    assert ours == [(list(context), list(scored)) for context, scored in theirs]
