"""Sentences and offers of the editor of test cases."""

from dataclasses import dataclass

from experiment.models import ItemScratch


@dataclass(frozen=True, slots=True)
class About:
    """Statements on the test case that is written; `name` and `value` tell the server which it is.

    kept: said where what was typed cannot be saved. discard: the label of the button that gives up what was typed.
    """

    heading: str
    state: str
    part: str
    name: str
    value: str
    kept: str
    may_submit: bool
    discard: str


def about(scratch: ItemScratch) -> About:
    item = scratch.item
    if item is None:
        kept = "This is not a complete test case yet."
        uid = str(scratch.uid)
        return About("New test case", "new", "new", "begun", uid, kept, True, "Discard")
    kept, state = "The test case has not changed.", item.get_status_display()
    named = ("draft", str(item.pk))
    return About(str(item), state, "items", *named, kept, item.is_draft, "Back to the saved text")


# Buttons above the text: the tool, its label, and its keys as a person and as a program reads them
TOOLS = (
    ("change", "Change the selected words", "Ctrl E", "Control+E Meta+E"),
    ("takeBack", "Undo this change", "", ""),
    ("undo", "Undo", "", "Control+Z Meta+Z"),
    ("redo", "Redo", "", "Control+Shift+Z Meta+Shift+Z"),
)
# What static/js/editor says; it fills in the names in braces
TEXTS = {
    "saved": "Saved {at}",
    "kept": "Draft kept at {at}, visible only to you: not a complete test case yet",
    "kept_why": "Draft kept at {at}, visible only to you: {why}",
    "saving": "Saving…",
    "offline": "Not saved: no connection. Your text is kept in this browser",
    "refused": (
        "Not saved: you are signed out, or may no longer edit this. Your text is kept in this browser. Please reload the "
        "page"
    ),
    "conflict": (
        "Not saved: somebody else has changed this test case. Compare the versions above the text"
    ),
    "nothing": "Select the words to change first.",
    "crosses": "Select words within one change or outside all changes, without brackets.",
    "unsplit": (
        "It is not clear where the altered passage begins: write one | with a space on each side between the two passages."
    ),
    "none_here": "There is no change at the caret.",
    "same": "Both versions would have the same wording.",
    "made": "Changed: {original} / {altered}",
    "taken_back": "Undone: {original}",
    "joined": (
        "Line breaks within paragraphs were removed from the pasted text, with hyphens at the ends of lines. Undo restores "
        "them."
    ),
    "undone": "Undone",
    "redone": "Done again",
}
