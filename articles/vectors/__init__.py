"""Texts -> vectors -> nearest neighbours, as plain Python: the core of the semantic scheme.

An optional extra (requirements-semantic.txt). Nothing here is needed, or imported, unless it is switched on.
"""
