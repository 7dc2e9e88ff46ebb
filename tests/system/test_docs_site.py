"""The documentation's site: every page, what the package's docstrings say, nothing from elsewhere,
and a link that leads nowhere ends the build."""

import re
import shutil
import subprocess

import browser
import pytest
from support import ROOT, TIMEOUT_S

VENV = ROOT / ".venv-docs"
FETCHED = re.compile(r"<(?:script|img|link|source|iframe)\b[^>]*?(?:src|href)=\"?(https?:[^\" >]+)")

pytestmark = pytest.mark.skipif(
    not (VENV / "requirements.sha256").exists(), reason="no .venv-docs; ./setup.sh docs makes it"
)


def build(folder):
    return subprocess.run(
        [folder / "scripts" / "docs-site"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What the site is made of, elsewhere."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "python/warpgym"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "scripts").mkdir()
    for name in ("docs-site", "iframe-worker.js"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / ".venv-docs").symlink_to(VENV)
    return folder


def test_the_site(checkout):
    done = build(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "build/site/index.html\n"
    site = checkout / "build" / "site"
    pages = {page.relative_to(site).as_posix() for page in site.glob("**/*.html")}
    named = [page.relative_to(checkout / "docs") for page in (checkout / "docs").glob("**/*.md")]
    html = (str(name.with_suffix(".html")) for name in named)
    made = {re.sub(r"README\.html$", "index.html", name) for name in html}
    assert made <= pages, made - pages
    python = (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    assert 'id="warpgym.rl"' in python and 'id="warpgym.client' in python
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        fetched = [where for where in FETCHED.findall(text) if "favicon" not in where]
        assert not fetched, (page, fetched)
        # A code block whose first line says how a test types it is a code block here, too.
        assert "no-run:" not in text and "<p>```" not in text, page
    assert (site / "search" / "search_index.js").exists()  # read from a file, without a server


def test_a_link_that_leads_nowhere(checkout):
    page = checkout / "docs" / "guide" / "install.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text + "\n[nothing](train.md#no-such-heading)\n", encoding="utf-8")
    done = build(checkout)
    page.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    assert "no-such-heading" in done.stdout + done.stderr


@pytest.mark.skipif(browser.PROGRAM is None, reason="chromium is not installed")
def test_the_search_of_a_page_that_is_opened_as_a_file(checkout):
    assert build(checkout).returncode == 0
    page = checkout / "build" / "site" / "guide" / "install.html"
    with browser.Browser() as chromium:
        chromium.open(page.as_uri())
        chromium.value(
            """(() => {
                const input = document.querySelector(".md-search__input");
                input.focus();
                input.value = "NVRTC";
                input.dispatchEvent(new Event("keyup"));
            })()"""
        )
        chromium.until("document.querySelectorAll('.md-search-result__item').length > 0")
        assert chromium.value("document.querySelector('.md-search-result__link').href").startswith(
            "file:"
        )
        assert not chromium.complaints
        assert not [url for url in chromium.requests if not url.startswith(("file:", "data:"))]
