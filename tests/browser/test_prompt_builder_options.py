"""The prompt builder in Chromium: options of a row, conversations, raw JSON and the user's own fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.pages.browser import open_builder
from support.pages.builder_moves import DIALECTS, import_rows, open_row, option, raws, rows

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def one_page(chromium: Browser) -> Iterator[Page]:
    """A page that tests of single options share."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    open_builder(page)
    import_rows(page, ['{"prompt": "x"}'])
    open_row(page, 1)
    yield page
    context.close()


OPTIONS: list[tuple[str, str, Any]] = [
    ("Max tokens", "64", {"max_tokens": 64}),
    ("Temperature", "0", {"temperature": 0}),
    ("Top p", "0.9", {"top_p": 0.9}),
    ("Top k", "40", {"top_k": 40}),
    ("Min p", "0.05", {"min_p": 0.05}),
    ("Seed", "-7", {"seed": -7}),
    ("Stop", "END", {"stop": "END"}),
    ("Stop", "END\n\\n\\n", {"stop": ["END", "\n\n"]}),
    ("Answers", "3", {"n": 3}),
    ("Presence penalty", "-0.5", {"presence_penalty": -0.5}),
    ("Frequency penalty", "0.5", {"frequency_penalty": 0.5}),
    ("Repetition penalty", "1.1", {"repetition_penalty": 1.1}),
    ("Log probabilities", "true", {"logprobs": True}),
    ("Top log probabilities", "5", {"top_logprobs": 5}),
    ("Response format", '{"type": "json_object"}', {"response_format": {"type": "json_object"}}),
    ("Structured outputs", '{\n  "choice": ["a"]\n}', {"structured_outputs": {"choice": ["a"]}}),
    ("Model or adapter", "my-adapter", {"model": "my-adapter"}),
]


@pytest.mark.parametrize(("label", "typed", "wanted"), OPTIONS, ids=[f"{name} {typed!r}" for name, typed, _ in OPTIONS])
def test_an_option_is_set_and_taken_out_again(one_page: Page, label: str, typed: str, wanted: Any) -> None:
    field = option(one_page, label)
    field.fill(typed)
    assert rows(one_page) == [{"prompt": "x"} | wanted]
    expect(field).not_to_have_attribute("aria-invalid", "true")
    field.fill("")
    assert raws(one_page) == ['{"prompt": "x"}']


@pytest.mark.parametrize(
    ("label", "typed", "said"),
    [
        ("Temperature", "hot", '"temperature" must be a number 0 or more, got "hot"'),
        ("Max tokens", "-1", '"max_tokens" must be a whole number, 0 or more, got -1'),
        ("Max tokens", "1.5", '"max_tokens" must be a whole number, 0 or more, got 1.5'),
        ("Top p", "0", '"top_p" must be a number more than 0 and at most 1, got 0'),
        ("Response format", "{", '"response_format" must be an object, got "{"'),
    ],
)
def test_an_option_out_of_bounds_is_marked_at_once_and_nothing_typed_is_lost(
    one_page: Page, label: str, typed: str, said: str
) -> None:
    field = option(one_page, label)
    field.fill(typed)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(one_page.locator("#card > .fault")).to_have_text(said)
    expect(one_page.locator("#bad-count")).to_have_text("1 problem")
    expect(field).to_have_value(typed)
    field.fill("")


def test_options_are_written_where_the_row_keeps_them(page: Page) -> None:
    import_rows(
        page,
        [
            *DIALECTS[1:],
            '{"prompt": "x", "sampling_params": {"top_p": 1.0}}',
            '{"prompt": "x", "max_completion_tokens": 5}',
        ],
    )
    for line in range(1, 7):
        open_row(page, line)
        option(page, "Max tokens").fill("9")
    openai, anthropic, runpod, bedrock, nested, newer = rows(page)
    assert openai["body"]["max_tokens"] == 9
    assert anthropic["params"]["max_tokens"] == 9
    assert runpod["input"]["sampling_params"] == {"max_tokens": 9}
    assert bedrock["modelInput"]["inferenceConfig"] == {"maxTokens": 9}
    assert nested == {"prompt": "x", "sampling_params": {"top_p": 1.0}, "max_tokens": 9}
    assert newer == {"prompt": "x", "max_completion_tokens": 9}


def test_a_prompt_becomes_a_conversation_with_a_system_message_and_images_by_url(page: Page) -> None:
    import_rows(page, ['{"id": 1.0, "prompt": "What is this?", "note": 1E2}'])
    open_row(page, 1)
    page.get_by_role("button", name="Conversation").click()
    page.get_by_label("System message").fill("Be brief.")
    page.get_by_role("button", name="Add an image by URL").click()
    page.get_by_label("Image URL in message 1").fill("https://example.com/cat.png")
    page.get_by_role("button", name="Add a message").click()
    page.get_by_label("Text of message 2").fill("A cat.")
    image = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    assert rows(page)[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {"role": "assistant", "content": "A cat."},
    ]
    assert raws(page)[0].startswith('{"id": 1.0, "note": 1E2, ')


def test_messages_change_places_and_roles_and_are_deleted(page: Page) -> None:
    import_rows(page, ['{"messages": [{"role":"user","content":"a","name":"x"},{"role":"assistant","content":"b"}]}'])
    open_row(page, 1)
    page.get_by_role("button", name="Move message 2 up").click()
    assert raws(page) == ['{"messages": [{"role":"assistant","content":"b"},{"role":"user","content":"a","name":"x"}]}']
    page.get_by_label("Role of message 1").select_option("user")
    page.get_by_role("button", name="Delete message 2").click()
    assert raws(page) == ['{"messages": [{"role":"user","content":"b"}]}']


def test_raw_json_is_checked_while_it_is_typed(page: Page) -> None:
    import_rows(page, ['{"prompt": "x", "id": 1.0}'])
    open_row(page, 1)
    page.get_by_role("tab", name="Raw JSON").click()
    raw = page.get_by_label("The line as the job reads it")
    expect(raw).to_have_value('{"prompt": "x", "id": 1.0}')
    raw.fill('{"prompt": "x" "id": 1.0}')
    expect(page.locator("#raw-state")).to_have_text("a comma or a closing bracket is missing, at character 16")
    raw.fill('{\n  "prompt": "x",\n  "temperature": -1.50\n}')
    expect(page.locator("#card > .fault")).to_contain_text("must be a number 0 or more, got -1.50")
    assert raws(page) == ['{"prompt": "x", "temperature": -1.50}']


def test_fields_of_the_users_own_are_edited_renamed_added_and_deleted(page: Page) -> None:
    import_rows(page, ['{"topic": "a", "prompt": "x", "score": 1.0, "gone": null}'])
    open_row(page, 1)
    page.get_by_label("Value of topic").fill("b")
    page.get_by_label("Value of score, as JSON").fill("2.50")
    page.get_by_label("Name of the field topic").fill("subject")
    page.get_by_label("Name of the field topic").blur()
    page.get_by_role("button", name="Delete the field gone").click()
    page.get_by_label("Name of a new field").fill("lang")
    page.get_by_role("button", name="Add the field").click()
    page.get_by_label("Value of lang").fill("fr")
    assert raws(page) == ['{"subject": "b", "prompt": "x", "score": 2.50, "lang": "fr"}']
