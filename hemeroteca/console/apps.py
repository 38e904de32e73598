from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "hemeroteca.console"
    label = "console"
