"""Work proportional to the number of rows: counts, exact sums, selection by rank."""
