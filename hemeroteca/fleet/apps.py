from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "hemeroteca.fleet"
