from django.apps import AppConfig


class ArchiveConfig(AppConfig):
    name = "hemeroteca.archive"
    label = "archive"
