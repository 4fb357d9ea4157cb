"""The messages of `protocol`, one file a subject and one dataclass a message.

They hold what enters as the body of a request and what leaves as an answer or event. They check nothing;
`http.validation` reads those that enter.
"""
