"""The cost database: measurements that outlive a run, in a file or on a team's server.

It validates and keeps records, and gives them back by the key of all that they depend on.
Nothing here measures.
"""
