from django.apps import AppConfig


class GeoConfig(AppConfig):
    name = "hemeroteca.geo"
    label = "geo"
    sinks = ("hemeroteca.geo.sink.Services",)
