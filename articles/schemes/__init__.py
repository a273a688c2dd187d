"""Ways to find duplicates that stand beside the judge: plain Python, to be used alone and to be compared."""
