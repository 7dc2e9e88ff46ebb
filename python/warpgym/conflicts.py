"""Packages that no environment can hold together."""

from importlib import metadata

REASONS = {
    frozenset(("openenv", "verifiers")): (
        "verifiers 0.4 requires mcp 2.0, and fastmcp, which OpenEnv 0.10 requires, mcp below 2"
    )
}


def explained(error: ImportError, package: str) -> ImportError:
    """The error, with the reason where the package's rival is installed, too."""
    for pair, reason in REASONS.items():
        (rival,) = pair - {package}
        if package in pair and installed(package) and installed(rival):
            advice = f"install {package} and {rival} in two environments"
            return ImportError(f"{package} cannot be imported beside {rival}: {advice} ({reason})")
    return error


def installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
