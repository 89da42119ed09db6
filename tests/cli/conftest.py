"""Reports of the command line leave out their pictures, which take seconds."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def reports_have_no_pictures(without_pictures):
    """Ask for ``with_pictures`` where they count."""
