"""The cost database: measurements that outlive a run, in a file or on a team's server.

What enters are records, each of which is validated; what leaves are the same records, by the key of all that they depend on.
Nothing here measures.
"""
