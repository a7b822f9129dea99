"""Open the submission form of a bundle offscreen and print what is in it as JSON; test_form.py runs this.

usage: python form_probe.py BUNDLE FOLDER       (needs deadline[gui]; reaches no network)

Prints the tabs, the groups with their parameters, labels and tooltips in the order of the form, and for each entry
of FOLDER/typed.json ([name, text]) what the form holds after a person typed that text, and the values that Submit
passes on as the form opens. Leaves FOLDER/form.png, and in FOLDER/bundle what Submit writes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

BUNDLE, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
    os.environ.pop(name, None)
os.environ |= {
    "QT_QPA_PLATFORM": "offscreen",
    "QT_API": "pyside6",
    "HOME": str(FOLDER),
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_DEFAULT_REGION": "us-west-2",
    "AWS_CONFIG_FILE": str(FOLDER / "none"),
    "AWS_SHARED_CREDENTIALS_FILE": str(FOLDER / "none"),
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # a stray call is refused at once
    "DEADLINE_CONFIG_FILE_PATH": str(FOLDER / "deadline.conf"),
    "DEADLINE_CLOUD_TELEMETRY_OPT_OUT": "true",
}

from deadline.client.ui.job_bundle_submitter import show_job_bundle_submitter  # noqa: E402
from qtpy.QtCore import Qt  # noqa: E402
from qtpy.QtTest import QTest  # noqa: E402
from qtpy.QtWidgets import (  # noqa: E402
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

EDITORS = (QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit, QTextEdit)


def editor_of(control: QWidget) -> QWidget:
    """Return the widget of a control that a person types in."""
    return next(each for kind in EDITORS for each in control.findChildren(kind))


def described(name: str, control: QWidget) -> dict[str, Any]:
    """Return what a person sees of a parameter."""
    editor = editor_of(control)
    label = next((each for each in control.findChildren(QLabel)), None)
    tips = [widget.toolTip() for widget in (control, editor, *control.findChildren(QLabel)) if widget.toolTip()]
    kind = next(kind.__name__ for kind in EDITORS if isinstance(editor, kind))
    return {"name": name, "label": label.text() if label else "", "tip": tips[0] if tips else "", "kind": kind}


def group_of(control: QWidget) -> str:
    """Return the title of the box that a control is in."""
    above = control.parentWidget()
    while above is not None and not isinstance(above, QGroupBox):
        above = above.parentWidget()
    return str(above.title()) if above is not None else ""


def type_in(control: QWidget, text: str) -> dict[str, Any]:
    """Replace what is in a control by typing; return the value that the form would submit, and whether it may."""
    editor = editor_of(control)
    editor.setFocus()
    editor.selectAll()
    QTest.keyClick(editor, Qt.Key_Delete)
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key_Tab)
    return {"value": control.value(), "valid": control.is_valid()}


def controls_of(dialog: Any) -> dict[str, QWidget]:
    """Return the form's controls by their parameter's name."""
    inside = dialog.job_settings.findChildren(QWidget)
    return next(each.controls for each in inside if hasattr(each, "invalid_parameter_names"))


def values_in(dialog: Any) -> dict[str, Any]:
    """Return what the form would submit."""
    return {each["name"]: each["value"] for each in dialog.job_settings.get_parameters()}


def save_bundle(dialog: Any, folder: Path) -> list[dict[str, Any]]:
    """Write the bundle that a press on Submit writes; return the values that go with it to the submitter."""
    settings = dialog.job_settings_type()
    dialog.shared_job_settings.update_settings(settings)
    dialog.job_settings.update_settings(settings)
    folder.mkdir()
    files = dialog.job_attachments.get_asset_references()
    given = dialog.on_create_job_bundle_callback(dialog, str(folder), settings, [], files, None)
    return list(given["job_parameters"])


def main() -> None:
    """Print what is in the form."""
    app = QApplication(["deadline"])
    app.setStyle("Fusion")
    dialog = show_job_bundle_submitter(input_job_bundle_dir=str(BUNDLE))
    tabs = [dialog.tabs.tabText(place) for place in range(dialog.tabs.count())]
    dialog.tabs.setCurrentIndex(next(place for place, text in enumerate(tabs) if "specific" in text))
    dialog.resize(700, 1500)
    dialog.show()
    app.processEvents()
    dialog.grab().save(str(FOLDER / "form.png"))
    controls = controls_of(dialog)
    groups: dict[str, list[dict[str, Any]]] = {}
    places = {name: control.mapTo(dialog, control.rect().topLeft()).y() for name, control in controls.items()}
    for name in sorted(places, key=lambda name: places[name]):
        if controls[name].isVisible() and controls[name].findChildren(QWidget):  # a hidden one is empty
            groups.setdefault(group_of(controls[name]), []).append(described(name, controls[name]))
    typed = json.loads((FOLDER / "typed.json").read_text(encoding="utf-8"))
    opened = values_in(dialog)
    submitted = save_bundle(dialog, FOLDER / "bundle")
    results = [type_in(controls[name], text) for name, text in typed]
    print(json.dumps({"tabs": tabs, "groups": groups, "opened": opened, "submitted": submitted, "typed": results}))
    sys.stdout.flush()
    os._exit(0)  # background threads that look for credentials would keep Qt alive


main()
