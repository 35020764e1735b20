"""PATH: regular path queries over the views of one window."""
