"""The report: a run and everything that the page shows of it, as one HTML file that opens without a server.

The id of a run enters; a document leaves, which holds the page as one script and the server's answers to what the page asks. Nothing
is measured for it.
"""
