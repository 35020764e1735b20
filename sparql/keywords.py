"""The words of SPARQL 1.1 queries and of RSP-QL, in upper case."""

from __future__ import annotations

# fmt: off
CLAUSES = frozenset((
    "BASE", "PREFIX", "SELECT", "DISTINCT", "REDUCED", "AS", "CONSTRUCT", "DESCRIBE", "ASK", "FROM",
    "NAMED", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "ASC", "DESC", "LIMIT", "OFFSET", "VALUES",
    "UNDEF", "OPTIONAL", "GRAPH", "UNION", "MINUS", "SERVICE", "SILENT", "FILTER", "BIND", "EXISTS",
    "NOT", "IN", "SEPARATOR", "A", "TRUE", "FALSE",
))
FUNCTIONS = frozenset((
    "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "STR", "LANG", "LANGMATCHES",
    "DATATYPE", "BOUND", "IRI", "URI", "BNODE", "RAND", "ABS", "CEIL", "FLOOR", "ROUND", "CONCAT",
    "SUBSTR", "STRLEN", "REPLACE", "UCASE", "LCASE", "ENCODE_FOR_URI", "CONTAINS", "STRSTARTS",
    "STRENDS", "STRBEFORE", "STRAFTER", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS",
    "TIMEZONE", "TZ", "NOW", "UUID", "STRUUID", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "COALESCE",
    "IF", "STRLANG", "STRDT", "SAMETERM", "ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "REGEX",
))
UPDATES = frozenset((
    "INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH",
))
STREAMS = frozenset((
    "REGISTER", "ISTREAM", "DSTREAM", "RSTREAM", "CHANGES", "QUERY", "STREAM", "WINDOW", "ON",
))
WINDOWS = frozenset((
    "RANGE", "ELEMENTS", "EVENT", "TRIPLES", "STEP", "SLIDE", "TUMBLING", "LATENESS", "REPORT", "T0",
    "WITH", "STATIC",
))
OPTIONS = frozenset((
    "PATHS", "SHORTEST", "SIMPLE", "IMPLICIT", "WINDOWS",
))
# fmt: on

#: What may stand in a query outside the brackets of its windows and the options of REGISTER.
KEYWORDS = CLAUSES | FUNCTIONS | STREAMS
