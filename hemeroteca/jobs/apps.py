from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "hemeroteca.jobs"
    label = "jobs"
