"""What pytest says at the end of `make test-gpu`."""

import corpus


def pytest_terminal_summary(terminalreporter):
    if corpus.TABLE:
        terminalreporter.section("PyTorch candidates")
        for line in corpus.TABLE:
            terminalreporter.write_line(line)
