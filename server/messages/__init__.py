"""The messages of `protocol`, one file a subject and one dataclass a message. They only hold data."""
