"""A model in other forms that compute the same: normalised, folded, of another opset, in other precision, or cut out.

A `ModelProto` enters and another leaves, with what became of the user's nodes. A form never depends on who will run it.
"""
