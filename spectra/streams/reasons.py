"""Why a line is bad: the codes of the scanner, and their texts for the quarantine."""

from __future__ import annotations

UTF8 = 1
ESCAPE = 2
SURROGATE = 3
IRI_CHARACTER = 4
IRI_UNTERMINATED = 5
IRI_RELATIVE = 6
LITERAL_UNTERMINATED = 7
LITERAL_SUBJECT = 8
LANGUAGE_TAG = 9
DATATYPE = 10
LANG_STRING = 11
LABEL = 12
SUBJECT = 13
PREDICATE = 14
OBJECT = 15
GRAPH = 16
FULL_STOP = 17
SECOND_STATEMENT = 18
TRAILING_TEXT = 19
DEFAULT_GRAPH = 20
PATCH_KEYWORD = 21
OUTSIDE_BLOCK = 22
PREFIXED_NAME = 23
HEADER = 24
SECOND_TIME = 25

REASONS = (
    "",
    "invalid UTF-8",
    "bad escape",
    "escape of a surrogate or beyond U+10FFFF",
    "character not allowed in an IRI",
    "unterminated IRI",
    "relative IRI",
    "unterminated literal",
    "literal as subject",
    "bad language tag",
    "expected a datatype IRI",
    "rdf:langString without a language tag",
    "bad blank node label",
    "expected a subject",
    "expected a predicate",
    "expected an object",
    "expected a graph name",
    "expected '.'",
    "more than one statement in a line",
    "text behind the statement",
    "default graph statement that is no time",
    "unknown RDF Patch keyword",
    "line outside a block",
    "prefixed name: write the full IRI",
    "bad header",
    "second time in one block",
)
