"""Any number of classes: from labels and a row of probabilities each to the noise matrix."""
