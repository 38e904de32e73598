from django.apps import AppConfig


class FrontierConfig(AppConfig):
    name = "hemeroteca.frontier"
    label = "frontier"
