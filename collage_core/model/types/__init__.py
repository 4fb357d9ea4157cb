"""Types of tensors and kinds of operators: names and packing of dtypes, attributes as JSON.

Parts of a `ModelProto` enter; plain data for the graph leaves. Nothing is run here.
"""
