"""What costs time in proportion to the rows: counts, exact sums, selection by rank."""
