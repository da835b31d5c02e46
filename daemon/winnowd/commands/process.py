"""`winnow process`: the way of one file without a database."""

import os
import sys
from typing import Any

import click

from winnowd.commands import common
from winnowd.errors import EXIT_INCOMPLETE, UsageError
from winnowd.model import Content, Document, Failure, Finding

METADATA = ("title", "author", "created", "modified", "language", "encoding")


@click.command("process")
@click.argument("file", type=common.PATH)
@common.json_option
@click.pass_obj
def command(config: str | None, as_json: bool, file: str) -> None:
    """Read one file without a database: what would be indexed, and what the checks say."""
    settings = common.load_config(config)
    path = common.existing_path(file)
    if not os.path.isfile(path) or os.path.islink(path):
        raise UsageError(f"{file}: is no regular file")
    from winnowd import daemon, reports, rules, worker

    rule = rules.rules_for(settings, os.path.dirname(path)).rule_for(os.path.basename(path), folder=False)
    if rule is not None:
        result = _nothing(path, None, "excluded", f"Left out by the pattern {rule!r} (walk.exclude).")
    else:
        report = daemon.process(path, settings)
        if isinstance(report, reports.Unread):
            result = describe(path, None, report.failure, worker.recipes(settings))
        else:
            result = describe(path, report.content, report.outcome, worker.recipes(settings))
    if as_json:
        common.print_json(result)
    else:
        _print(result)
    if result["outcome"] == "failure":
        sys.exit(EXIT_INCOMPLETE)


def describe(path: str, content: Content | None, outcome: Document | Failure, recipes: dict[str, str]) -> dict[str, Any]:
    """The public JSON form of an outcome."""
    if isinstance(outcome, Document):
        return {**_named(path, content, outcome.format), **_document(path, outcome)}
    from winnowd.errors import state_of_failure

    format = content.format if content else outcome.format
    result = _nothing(path, content, outcome.code, outcome.message)
    if state_of_failure(outcome.code, format) != "skipped":
        result |= {"outcome": "failure", "failure": {"code": outcome.code, "message": outcome.message}}
    return {
        **result,
        "recipe": recipes.get(format or ""),
        "findings": [_finding(finding) for finding in _of_path(path, format)],
    }


def _named(path: str, content: Content | None, format: str | None) -> dict[str, Any]:
    from winnowd.disk import printable

    return {"path": printable(path), "digest": content.digest if content else None, "format": format}


def _nothing(path: str, content: Content | None, reason: str, message: str) -> dict[str, Any]:
    """A file that yields no document: every key is there, so that programs need not ask."""
    empty: dict[str, Any] = {"recipe": None, "metadata": dict.fromkeys(METADATA)}
    empty |= {key: [] for key in ("facts", "pages", "outline", "passages", "furniture", "findings", "steps")}
    outcome = {"outcome": "skipped", "verdict": None, "reason": reason, "message": message, "failure": None}
    return {**_named(path, content, content.format if content else None), **outcome, **empty}


def _document(path: str, document: Document) -> dict[str, Any]:
    metadata = document.metadata
    bad = {page.index for page in document.pages if page.verdict == "review"}
    texts: dict[int, list[str]] = {}
    for passage in document.passages:
        texts.setdefault(passage.page_index or 0, []).append(passage.text)
    findings = (*document.findings, *_of_path(path, document.format))
    return {
        "outcome": "document",
        "verdict": document.verdict,
        "reason": next((finding.code for finding in findings if finding.severity == "review"), None),
        "failure": None,
        "recipe": document.recipe,
        "metadata": {key: getattr(metadata, key) for key in METADATA},
        "facts": [{"source": f.source, "key": f.key, "value": f.value, "believed": f.believed} for f in metadata.facts],
        "pages": [
            {
                "index": page.index,
                "label": page.label,
                "text": "\n\n".join(texts.get(page.index, ())),
                "verdict": page.verdict,
                **_measures(page.measures),
                "image_cover": page.image_cover,
                "hidden_share": page.hidden_share,
                "ink": page.ink,
            }
            for page in document.pages
        ],
        "outline": [
            {"level": e.level, "title": e.title, "page_index": e.page_index, "page_label": e.page_label}
            for e in document.outline
        ],
        "passages": [
            {
                "id": f"{document.digest[:16]}-{p.ordinal}",
                "ordinal": p.ordinal,
                "heading_path": p.heading_path,
                "page_index": p.page_index,
                "page_label": p.page_label,
                "text": p.text,
                "withheld": (p.page_index or 0) in bad,
            }
            for p in document.passages
        ],
        "furniture": [{"page_index": b.page, "kind": b.kind, "text": b.text} for b in document.furniture],
        "findings": [_finding(finding) for finding in findings],
        "steps": [{"step": step.step, "touched": step.touched} for step in document.steps],
    }


def _measures(measures: object) -> dict[str, Any]:
    from dataclasses import asdict

    from winnowd.model import Measures

    return asdict(measures if isinstance(measures, Measures) else Measures())


def _of_path(path: str, format: str | None) -> tuple[Finding, ...]:
    from winnowd.formats import BY_NAME, mismatch

    message = mismatch(os.path.basename(path), format) if format in BY_NAME else None
    return (Finding("wrong_extension", "info", message),) if message else ()


def _finding(finding: Finding) -> dict[str, Any]:
    keys = ("code", "page_index", "severity", "measure", "threshold", "message")
    return {key: getattr(finding, key) for key in keys}


def _print(result: dict[str, Any]) -> None:
    from winnowd.render import flat, safe

    click.secho(safe(result["path"]), bold=True)
    click.echo(
        f"{result['format'] or 'unknown format'}: {result['verdict'] or result['outcome']}"
        + f" ({result['recipe']})" * bool(result["recipe"])
    )
    if result.get("message"):
        click.echo(f"{result['reason']}: {result['message']}")
    for key, value in result["metadata"].items():
        if value:
            click.echo(f"{key}: {flat(value)}")
    for finding in result["findings"]:
        click.echo(f"{finding['severity']}: {finding['code']}: {flat(finding['message'])}")
    for step in result["steps"]:
        if step["touched"]:
            click.echo(f"step: {step['step']} touched {step['touched']}")
    for block in result["furniture"]:
        click.secho(f"set aside ({block['kind']}): {flat(block['text'])}", dim=True)
    for passage in result["passages"]:
        place = "" if passage["page_index"] is None else f"page {passage['page_label'] or passage['page_index'] + 1}"
        held = " (waits for review)" if passage["withheld"] else ""
        click.secho(f"--- {passage['ordinal']} {place} {flat(passage['heading_path'])}{held}", dim=True)
        click.echo(safe(passage["text"]))
