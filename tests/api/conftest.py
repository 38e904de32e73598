from tests.console.conftest import administrator, editor, instance, world  # noqa: F401 - the same small archive
