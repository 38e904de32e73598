from tests.console.conftest import administrator, director, instance, world  # noqa: F401 - the same small archive
