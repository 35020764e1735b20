"""Physical operators: signed changes in, signed changes out."""
