from django.apps import AppConfig


class WikiConfig(AppConfig):
    name = "hemeroteca.wiki"
    label = "wiki"
