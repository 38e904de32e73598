from django.apps import AppConfig


class WatchConfig(AppConfig):
    name = "hemeroteca.watch"
    label = "watch"
