"""Run mutmut over the core and print the share of mutants that the tests kill.

Survivors are listed one per line; ``mutmut show NAME`` prints the change of each.
"""

import collections
import os
import subprocess
import sys


def main() -> None:
    """Print the outcomes of all mutants, and exit with 1 if fewer than 95 % are killed."""
    workers = str(os.cpu_count() or 1)
    subprocess.run(["mutmut", "run", "--max-children", workers], check=True)
    listed = subprocess.run(
        ["mutmut", "results", "--all", "true"], check=True, capture_output=True, text=True
    )
    outcomes: dict[str, list[str]] = collections.defaultdict(list)
    for line in listed.stdout.splitlines():
        name, _, outcome = line.strip().rpartition(": ")
        if name:
            outcomes[outcome].append(name)
    total = sum(map(len, outcomes.values()))
    for outcome, names in sorted(outcomes.items()):
        print(f"{outcome}: {len(names)}")
    # A mutant that makes the tests hang or crash is detected like one that makes them fail.
    killed = sum(len(outcomes[outcome]) for outcome in ("killed", "timeout", "segfault"))
    print(*outcomes["survived"], sep="\n")
    print(f"killed {killed} of {total}: {killed / total:.1%}")
    sys.exit(killed / total < 0.95)


if __name__ == "__main__":
    main()
